import { describe, expect, it } from 'vitest';
import type { Image } from '../../../src/engine/objects/container.ts';
import { versionLabel } from '../../../src/engine/objects/labels.ts';
import type { ProjectUpdatePlan } from '../../../src/updater/compose/plan/prepared-plan.ts';
import { checkStaleTags, floatingTagUpdatesOf } from '../../../src/updater/plan/check-stale-tags.ts';
import { container, image } from '../../build.ts';
import { checkedBeside, composeText, installed, planTo } from '../../build-plan.ts';

/** The plan to update an app and a worker with these references to v1.5.0. */
const planOf = (app: string, worker: string, target = 'v1.5.0') =>
  planTo(target, installed({ 'compose.yaml': composeText({ app, worker }) }, { runningVersion: null }));

/** An image with this version label, or without a version label. */
const telling = (version: string | null, digest = 'sha256:here') =>
  image('sha256:config', {
    labels: version === null ? {} : { [versionLabel]: version },
    digests: [`acme/svc@${digest}`],
  });

/** Digests by tag; null if the registry does not respond. */
type Registry = Record<string, string> | null;

const checked = (registry: Registry, plan: ProjectUpdatePlan, images: ReadonlyMap<string, Image>) =>
  checkedBeside(
    (tag) => (registry === null ? null : registry[tag] === undefined ? 'none' : { digest: registry[tag] }),
    (lookUp) => checkStaleTags(plan, images, lookUp),
  );

const lags = (message: string) =>
  expect.objectContaining({ code: 'tag-lags', message, advice: expect.stringContaining('without --target') });

describe('checkStaleTags', () => {
  it.each<[string, string, string, string[]]>([
    ['latest', 'acme/svc:latest', 'acme/svc', ['acme/svc:latest', 'acme/svc:latest']],
    ['a release, and latest', 'acme/svc:v1.4.2', 'acme/svc', ['acme/svc:latest']],
    ['a tag of its own', 'acme/svc:edge', 'acme/worker:edge', ['acme/svc:edge']],
    ['a part that covers it', 'acme/svc:v1', 'acme/svc:v1.5', ['acme/svc:v1', 'acme/svc:v1.5']],
    ['a part that moves', 'acme/svc:v1.4', 'acme/svc:v1.4', ['acme/svc:v1.5', 'acme/svc:v1.5']],
  ])('checks %s', (_, app, worker, expected) => {
    expect(floatingTagUpdatesOf(planOf(app, worker)).map(({ to }) => to)).toEqual(expected);
    expect(floatingTagUpdatesOf(planOf(app, worker, 'canary'))).toEqual([]);
  });

  const reference = 'acme/svc:latest';
  const latest = planOf(reference, reference);
  it.each<[string, string | null, Registry, string[]]>([
    ['the target', '1.5.0', {}, []],
    ['a newer one, which the end tells', '1.6.0', {}, []],
    ['no version, with the digest of the target', null, { 'v1.5.0': 'sha256:here' }, []],
    ['a label of its base image, with the digest of the target', '0.9.1', { 'v1.5.0': 'sha256:here' }, []],
  ])('accepts a tag that points to %s', async (_, version, registry, warnings) => {
    const images = new Map([[reference, telling(version)]]);
    const { result, asked } = await checked(registry, latest, images);
    expect(result).toEqual(warnings);
    if (version !== null && registry !== null && !('v1.5.0' in registry)) expect(asked).toEqual([]);
  });

  it('accepts a label with fewer numbers than the target', async () => {
    const images = new Map([[reference, telling('4.0.15')]]);
    expect((await checked({}, planOf(reference, reference, '4.0.15.2941'), images)).result).toEqual([]);
  });

  it.each<[string, string | null, Registry, string]>([
    ['an older one', 'v1.4.9', {}, `${reference} points to v1.4.9, not to v1.5.0`],
    [
      'an older one, with another digest',
      'v1.4.9',
      { 'v1.5.0': 'sha256:there' },
      `${reference} points to v1.4.9, not to v1.5.0`,
    ],
    [
      'an older one, while the registry does not answer',
      '1.4.9',
      null,
      `${reference} points to v1.4.9, not to v1.5.0`,
    ],
    [
      'no version, and there is no such release',
      null,
      {},
      'acme/svc has no tag for v1.5.0, and the image that latest points to does not specify its version',
    ],
    [
      'no version, with another digest',
      null,
      { 'v1.5.0': 'sha256:there' },
      `${reference} and acme/svc:v1.5.0 point to different images`,
    ],
  ])('rejects a tag that points to %s', async (_, version, registry, message) => {
    const images = new Map([[reference, telling(version)]]);
    await expect(checked(registry, latest, images)).rejects.toThrow(lags(message));
  });

  it('ignores the version label if the label of the running image differs from its tag', async () => {
    const labels = { ...container('app-1').labels, [versionLabel]: '0.9.1' };
    const app = container('app-1', { imageReference: 'acme/svc:v1.4.2', labels });
    const from = installed({ 'compose.yaml': composeText({ app: reference }) }, { services: { app: [app] } });
    const images = new Map([[reference, telling('1.5.0')]]);
    await expect(checked({ 'v1.5.0': 'sha256:there' }, planTo('v1.5.0', from), images)).rejects.toThrow(
      lags(`${reference} and acme/svc:v1.5.0 point to different images`),
    );
  });

  it("does not query the registry for a worker's own tag", async () => {
    const plan = planOf('acme/svc:v1.4.2', 'acme/svc:edge');
    const images = new Map([['acme/svc:edge', telling(null)]]);
    expect(await checked({}, plan, images)).toEqual({ result: [], asked: [] });
  });

  it('warns about a custom tag if the registry does not respond', async () => {
    const plan = planOf('acme/svc:edge', 'acme/svc:edge');
    expect(plan.warnings).toEqual([]);
    const images = new Map([['acme/svc:edge', telling(null)]]);
    expect(await checked(null, plan, images)).toEqual({
      result: ['acme/svc:edge does not specify its version, so it is unknown whether edge points to v1.5.0'],
      // No other tag was queried.
      asked: ['acme/svc:v1.5.0-edge'],
    });
  });

  it('does not check a tag that is the target', () => {
    expect(
      floatingTagUpdatesOf(planOf('acme/svc:v1.4', 'acme/svc:v1.5', 'v1.5')).map(({ to }) => to),
    ).toEqual([]);
  });

  it.each<[string, string, string, string | null, Registry, string | null]>([
    ['31-apache', '32.0.1', '32-apache', '32.0.2', {}, null],
    [
      'apache',
      '32.0.1',
      'apache',
      null,
      { '32.0.1-apache': 'sha256:there', '32.0.1': 'sha256:here' },
      'acme/svc:apache and acme/svc:32.0.1-apache point to different images',
    ],
    ['release-10.11', '11.0.2', 'release-11.0', null, { '11.0.2': 'sha256:here' }, null],
  ])(
    'compares tags with variants from %s to %s: tag %s, version %s, registry %j',
    async (pin, to, tag, version, registry, message) => {
      const images = new Map([[`acme/svc:${tag}`, telling(version)]]);
      const plan = planOf(`acme/svc:${pin}`, `acme/svc:${pin}`, to);
      if (message === null) expect((await checked(registry, plan, images)).result).toEqual([]);
      else await expect(checked(registry, plan, images)).rejects.toThrow(lags(message));
    },
  );
});
