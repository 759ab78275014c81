// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { describe, expect, it } from 'vitest';
import { releaseSettingsSchema } from '../../../../src/core/release/release-settings.ts';
import type { Image } from '../../../../src/engine/objects/container.ts';
import type { ProjectUpdatePlan } from '../../../../src/updater/compose/plan/prepared-plan.ts';
import { findMalformedLabelWarnings } from '../../../../src/updater/compose/plan/release/release-label.ts';
import { findNewSettings } from '../../../../src/updater/compose/prepare/find-new-settings.ts';
import { container, image } from '../../../build.ts';
import { composeText, installed, planTo } from '../../../build-plan.ts';

const listed = (...names: string[]) =>
  names.map((name) => ({ name, description: '', default: `of ${name}` }));
const labelled = (label: unknown): Image =>
  image('sha256:new', {
    labels: { 'svc.settings': typeof label === 'string' ? label : JSON.stringify(label) },
  });
const nothing = { settings: [], warnings: [] };

function planned(
  given: Record<string, string> | null = {},
  changes: Partial<ProjectUpdatePlan> = {},
): ProjectUpdatePlan {
  const from = installed(
    { 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0' }), '.env': 'A=x\nB=\nC=$B\n' },
    { services: { app: [container('app-1', { env: new Map(Object.entries({ D: 'x', E: '' })) })] } },
  );
  return { ...planTo('v1.1.0', from), given: given && new Map(Object.entries(given)), ...changes };
}
const namesOf = (plan: ProjectUpdatePlan, of?: Image) =>
  findNewSettings(plan, of).settings.map(({ name }) => name);
const expected = (...names: string[]) => ({
  images: new Map(),
  files: new Map(),
  layers: new Map(),
  settings: releaseSettingsSchema.parse(listed(...names)),
});

describe('the new settings of a release', () => {
  it('are the settings of the label without a value in an env file or in the running app', () => {
    expect(namesOf(planned(), labelled(listed('A', 'B', 'C', 'D', 'E', 'F')))).toEqual(['B', 'C', 'E', 'F']);
  });

  it('are the settings of release.json if it lists any, also before the pull', () => {
    const plan = planned({}, { expected: expected('F') });
    expect(namesOf(plan, labelled(listed('G')))).toEqual(['F']);
    expect(namesOf(plan)).toEqual(['F']);
    expect(() => findNewSettings({ ...plan, given: new Map([['G', 'x']]) })).toThrow('does not list G');
    const { settings: _, ...digests } = expected();
    expect(namesOf(planned({}, { expected: digests }), labelled(listed('G')))).toEqual(['G']);
  });

  it('cause a warning if a user-written compose file does not use them', () => {
    const warnings = (text: string, kind: 'user-written' | 'generated' = 'user-written') => {
      const { containers } = planned().installation.app;
      const from = installed(
        { 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0' }) + text },
        { kind, services: { app: containers } },
      );
      return findNewSettings({ ...planned(), installation: from }, labelled(listed('F', 'GG'))).warnings;
    };
    expect(warnings('x-a: ${F}\n')).toEqual([
      'your compose files do not use GG: add the new settings to the environment of the app',
    ]);
    expect(warnings('x-a: ${F}\nx-b: ${GG}\n')).toEqual([]);
    expect(warnings('    env_file: .env\n')).toEqual([]);
    expect(warnings('', 'generated')).toEqual([]);
  });

  it('never include the version variable', () => {
    expect(namesOf(planned(), labelled(listed('SVC_VERSION')))).toEqual([]);
    expect(() => findNewSettings(planned({ SVC_VERSION: 'v9' }), labelled(listed('SVC_VERSION')))).toThrow(
      'does not list SVC_VERSION',
    );
  });

  it('have unique generated values in the promised format', () => {
    const label = (['hex32', 'base64-32', 'uuid'] as const).map((generate, at) => ({
      ...{ name: `S${at}`, description: '', generate },
    }));
    const values = () => findNewSettings(planned(), labelled(label)).settings.map(({ value }) => value);
    const [hex, base64, uuid] = values();
    expect(hex).toMatch(/^[0-9a-f]{64}$/);
    expect(Buffer.from(base64 ?? '', 'base64')).toHaveLength(32);
    expect(uuid).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(new Set([...values(), hex, base64, uuid]).size).toBe(6);
  });

  it.each([
    ['not JSON', '{'],
    ['not a list', {}],
    ['of another form', [{ name: 'A' }]],
    ['with a reserved name', listed('LD_PRELOAD')],
    ['too long', listed(...Array.from({ length: 51 }, (_, at) => `A${at}`))],
  ])('are ignored with a warning if the label is %s', (_, label) => {
    expect(findNewSettings(planned(), labelled(label))).toEqual(nothing);
    expect(findMalformedLabelWarnings(planned(), labelled(label))).toEqual([
      'the label svc.settings on acme/svc:v1.1.0 is malformed, so it is ignored',
    ]);
  });

  it('are unknown before the pull without release.json, and ignored by fetch', () => {
    expect(findNewSettings(planned({ Z: 'x' }))).toEqual(nothing);
    expect(findNewSettings(planned(null), labelled([{ ...listed('A')[0], required: true }]))).toEqual(
      nothing,
    );
    expect(
      findNewSettings(
        planned({ Z: 'x' }, { expected: expected('F'), app: { ...planned().app, tag: 'v1.0.0' } }),
      ),
    ).toEqual(nothing);
  });

  it('are not written if the release is installed already', () => {
    const same = { ...labelled([{ name: 'F', description: '', required: true }]), id: 'sha256:old' };
    expect(findNewSettings(planned(), same)).toEqual(nothing);
    expect(findNewSettings(planned({ F: 'x' }), same)).toEqual({
      settings: [],
      warnings: ['acme/svc:v1.1.0 is already installed, so the settings passed to this run are not written'],
    });
  });
});
