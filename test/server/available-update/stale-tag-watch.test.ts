import { expect, it } from 'vitest';
import { StaleTagWatch } from '../../../src/server/available-update/stale-tag-watch.ts';
import { validateInstanceOptions } from '../../../src/server/contract/validate-options.ts';
import { createRun } from '../../../src/server/run/run-record.ts';
import type { Run } from '../../../src/wire/status.ts';
import { details, plainOptions } from '../deployment/container-details.ts';
import { homeOf } from '../deployment/deployment-of.ts';
import { startAsked } from '../deployment/engine.ts';

const repository = 'registry.test/acme/svc';
const imageReference = `${repository}:latest`;
const run: Run = {
  ...createRun({ id: 'r1', from: 'v1.4.2', to: 'v1.5.0', startedAt: '2026-11-21T10:42:07.000Z' }),
  outcome: 'unchanged' as const,
};

/** An image as the containerd image store reports it: its id is the digest of the index that its tag named. */
const index = (id: string, content: string) => ({
  Id: id,
  RepoDigests: [`${repository}@${id}`],
  Manifests: [{ ID: content, Kind: 'image', Available: true }],
});

/** Whether a stale tag is found after a run, and after a recheck. The server's container uses the index `first`. */
async function lagWhere(
  images: Record<string, unknown>,
  remote: string | readonly [then: string, now: string],
  after: Run = run,
): Promise<boolean[]> {
  const [then, now] = typeof remote === 'string' ? [remote, remote] : remote;
  let hasLooked = false;
  const { engine } = await startAsked((call) => {
    if (call === 'GET /version') return { body: { ApiVersion: '1.56', MinAPIVersion: '1.40' } };
    if (call.startsWith('GET /distribution/'))
      return { body: { Descriptor: { digest: hasLooked ? now : then } } };
    const image = images[call.slice('GET /images/'.length, -'/json'.length)];
    return image === undefined ? undefined : { body: image };
  });
  const own = homeOf({
    container: details({}, { imageReference, imageId: 'sha256:first', imageManifest: 'sha256:content' }),
  });
  const watch = new StaleTagWatch(engine, validateInstanceOptions(plainOptions), async () => own);
  const before = await watch.after(after);
  hasLooked = true;
  await watch.recheck(after);
  return [before !== null, (await watch.after(after)) !== null];
}

const first = { 'sha256:first': index('sha256:first', 'sha256:content') };

it.each<[what: string, images: Record<string, unknown>, remote: string, stays: boolean]>([
  ['the tag is where it was', { ...first, [imageReference]: first['sha256:first'] }, 'sha256:first', true],
  ['the tag has moved', { ...first, [imageReference]: first['sha256:first'] }, 'sha256:next', false],
  [
    'what was pulled had the same content under another digest, and nothing was replaced',
    { ...first, [imageReference]: index('sha256:second', 'sha256:content') },
    'sha256:second',
    true,
  ],
  [
    'what the tag names here by now is another image',
    { ...first, [imageReference]: index('sha256:second', 'sha256:other') },
    'sha256:second',
    false,
  ],
])(
  'after an unchanged update, reports a stale tag until the tag moves: %s',
  async (_, images, remote, stays) => {
    expect(await lagWhere(images, remote)).toEqual([true, stays]);
  },
);

it.each<[what: string, code: string, remote: string | [string, string], found: boolean, stays: boolean]>([
  ['the tag is where it was', 'tag-lags', 'sha256:first', true, true],
  ['the tag has moved since', 'tag-lags', ['sha256:older', 'sha256:next'], true, false],
  ['it was for something else', 'drift', 'sha256:first', false, false],
])(
  'after a refused update, reports a stale tag until the tag moves: %s',
  async (_, code, remote, found, stays) => {
    const images = { ...first, [imageReference]: first['sha256:first'] };
    const refused: Run = { ...run, outcome: 'refused', code, endedAt: new Date().toISOString() };
    expect(await lagWhere(images, remote, refused)).toEqual([found, stays]);
  },
);
