import { expect, it } from 'vitest';
import { requirePin } from '../../../src/core/compose/pins/find-pin.ts';
import { UpdateError } from '../../../src/core/errors/update-error.ts';
import { versionLabel } from '../../../src/engine/objects/labels.ts';
import { checkSpecifiedServices } from '../../../src/updater/compose/inspect/services/check-specified-services.ts';
import { runningAppOf } from '../../../src/updater/compose/plan/plan-update.ts';
import { requirePublishedTags } from '../../../src/updater/plan/check-published.ts';
import { checkPulledImages } from '../../../src/updater/plan/check-pulled.ts';
import { container, image, installation } from '../../build.ts';
import {
  checkedBeside,
  composeText,
  modelOf,
  planOf,
  projectFiles,
  updateOptions,
} from '../../build-plan.ts';

// Each test follows the advice of an error literally. The command then succeeds, or fails for another reason.

interface Situation {
  images: Readonly<Record<string, string>>;
  args: string;
  /** Tags in the registry, with digests. */
  tags?: Readonly<Record<string, string>>;
  /** Label `svc.release-requires` of the pulled image. */
  requires?: string;
}

/** The error of a command, up to the checks after the pull; null if the command may continue. */
async function refusalOf({ images, args, tags = {}, requires }: Situation): Promise<UpdateError | null> {
  const options = updateOptions(...args.split(' '));
  const files = projectFiles({ 'compose.yaml': composeText(images) });
  const model = modelOf(files);
  const names = [options.app, ...options.workers].filter((name) => name in images);
  const services = names.map((name) => {
    const { referenceText } = requirePin(files, name);
    const running = container(`${name}-1`, {
      imageReference: referenceText,
      labels: { [versionLabel]: '1.0.0' },
    });
    return [name, [running]] as const;
  });
  try {
    const seen = { running: Object.keys(images), followers: [], migrations: [], orphans: [] };
    checkSpecifiedServices(options, { files, model, kind: 'user-written', ...seen });
    const facts = { services: Object.fromEntries(services), runningVersion: null };
    const install = installation(files, model, facts);
    const plan = planOf(install, options.target);
    const asked = (tag: string) => (tags[tag] === undefined ? 'none' : { digest: tags[tag] });
    await checkedBeside(asked, (lookUp) => requirePublishedTags(plan, lookUp));
    const digests = [`acme/app@${tags[plan.app.tag]}`];
    const labels = requires === undefined ? {} : { 'svc.release-requires': requires };
    const pulled = new Map([[plan.app.to, image('sha256:new', { digests, labels })]]);
    const running = runningAppOf(plan.installation, pulled.get(plan.app.to));
    await checkedBeside(asked, (lookUp) =>
      checkPulledImages(plan, pulled, { version: null, running, lookUp }),
    );
    return null;
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    return error;
  }
}

/** Sets another tag in the lines that `places` lists. */
function withTag(images: Situation['images'], places: string, tag: string): Situation['images'] {
  const lines = [...places.matchAll(/in compose\.yaml line (\d+)/g)].map(([, line]) => Number(line));
  const rows = Object.entries(images).map(([name, text], at): [string, string] => {
    // Each service has two lines, below the first line.
    const isNamed = lines.includes(2 * at + 3);
    return [name, isNamed ? text.replace(/[^:{}-]+(?=\}?$)/, tag) : text];
  });
  return Object.fromEntries(rows);
}

/** Changes that a user makes after reading the advice. Each alternative of an advice has its own entry. */
const ways: readonly (readonly [RegExp, (was: Situation, match: readonly string[]) => Situation])[] = [
  [
    /[Rr]un the update with (--service [^,.]+?)(?:\.|, or)/,
    (was, [, services = '']) => ({
      ...was,
      args: `${was.args.replaceAll(/ ?--service \S+/g, '')} ${services}`.trim(),
    }),
  ],
  [
    /or add ((?:--exclude \S+ ?)+)to keep/,
    (was, [, more]) => ({ ...was, args: `${was.args} ${more}`.trim() }),
  ],
  [
    /Specify the (?:full version|release).* --target (\S+?)\.$/,
    (was, [, to = '']) => ({
      ...was,
      args: `${was.args.replace(/--target \S+/, '')} --target ${to.replace('X.Y.Z', '9.9.9')}`.trim(),
    }),
  ],
  [
    /Specify the release without (\S+):/,
    (was, [, suffix = '']) => ({ ...was, args: was.args.replace(suffix, '') }),
  ],
  [
    /or run it without --target/,
    (was) => ({ ...was, args: was.args.replace(/ ?--target \S+/, '') || 'update' }),
  ],
  [
    /you can also set that tag manually \((.*)\)/,
    (was, [, places = '']) => ({
      ...was,
      images: withTag(was.images, places, /--target (\S+)/.exec(was.args)?.[1] ?? ''),
    }),
  ],
  [
    /(?:Set the (?:new )?tag manually|Manually set the tag to (\S+)) \((.*?)\)/,
    (was, [, tag, places = '']) => ({
      ...was,
      images: withTag(was.images, places, tag ?? '9.9.9'),
      args: was.args.replace(/--target \S+/, `--target ${tag ?? '9.9.9'}`),
    }),
  ],
  [
    /Check that the release is published/,
    (was) => ({ ...was, tags: { ...was.tags, '1.25': 'sha256:here' } }),
  ],
];

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: compose's own
const immich = {
  server: 'ghcr.io/immich-app/server:${V:-v2.5.5}',
  learning: 'ghcr.io/immich-app/learning:${V:-v2.5.5}-cuda',
  db: 'docker.io/tensorchord/postgres:14',
};
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: compose's own
const four = (tag: string) => ({
  app: `acme/app:\${PENPOT_VERSION:-${tag}}`,
  backend: `acme/backend:\${PENPOT_VERSION:-${tag}}`,
  exporter: `acme/exporter:\${PENPOT_VERSION:-${tag}}`,
  mcp: `acme/mcp:\${PENPOT_VERSION:-${tag}}`,
});
const allFour = '--service app --service backend --service exporter --service mcp';
const two = (tag: string) => ({ app: `acme/app:${tag}`, worker: `acme/app:${tag}` });

it.each<[name: string, code: string, count: number, situation: Situation]>([
  [
    'a part whose next one is not published, with a shorter tag that may be any release',
    'pin-unsupported',
    1,
    { images: two('1.24'), args: '--target 1.25.0', tags: { 1: 'sha256:other' } },
  ],
  [
    'a default in four lines',
    'pin-unsupported',
    1,
    { images: four('2.16'), args: `--target 2.17.1 ${allFour}`, tags: { '2.17.1': 'sha256:here' } },
  ],
  [
    'two lines',
    'pin-unsupported',
    1,
    { images: two('1.24'), args: '--target 1.25.0', tags: { '1.25.0': 'sha256:here', 1: 'sha256:here' } },
  ],
  [
    'a database beside the app, and a service that was forgotten',
    'unrelated-service',
    1,
    { images: immich, args: '--target v2.6.0 --service server --service db' },
  ],
  [
    'a service that was forgotten',
    'unlisted-services',
    2,
    { images: immich, args: '--target v2.6.0 --service server' },
  ],
  [
    'a target with too few numbers',
    'pin-unsupported',
    1,
    { images: two('31.0.9-apache'), args: '--target 32', tags: { '32.0.0-apache': 'sha256:here' } },
  ],
  ['no target', 'no-target', 1, { images: two('1.24.0'), args: 'update' }],
  ['another variant', 'pin-unsupported', 1, { images: two('1.24.0-alpine'), args: '--target 1.25.0-fpm' }],
  ['a date as pin', 'pin-unsupported', 1, { images: two('2025-10-15'), args: '--target 1.25.0' }],
  ['a date as target', 'pin-unsupported', 1, { images: two('1.24.0'), args: '--target 2025-10-15' }],
  [
    'a tag that has not been moved yet',
    'tag-lags',
    2,
    {
      images: two('latest'),
      args: '--target 1.25.0',
      tags: { latest: 'sha256:old', '1.25.0': 'sha256:here' },
    },
  ],
  [
    'a floating tag that points to a release that requires another',
    'upgrade-step',
    1,
    {
      images: two('latest'),
      args: '--target 2.0.0',
      requires: 'v1.9.0',
      tags: { latest: 'sha256:b', '2.0.0': 'sha256:b' },
    },
  ],
])('following the advice resolves the error: %s', async (_, code, count, situation) => {
  const refusal = await refusalOf(situation);
  expect(refusal).toMatchObject({ code, outcome: 'refused' });
  const { advice = '', message = '' } = refusal ?? {};
  const applied = ways.flatMap(([form, follow]) => {
    const match = form.exec(advice);
    return match === null ? [] : [follow(situation, [...match])];
  });
  expect(applied, advice).toHaveLength(count);
  for (const next of applied) {
    const again = await refusalOf(next);
    expect(`${again?.code}: ${again?.message}`, `${advice}\n${JSON.stringify(next)}`).not.toBe(
      `${code}: ${message}`,
    );
    // All services that were updated together still have the same version.
    if (next.images !== situation.images) {
      const tags = Object.values(next.images).map((text) => /[^:{}-]+(?=\}?$)/.exec(text)?.[0]);
      expect(new Set(tags).size, advice).toBe(1);
    }
  }
});
