import { expect, test } from 'vitest';
import { judgeUntouched } from '../judge/judge.ts';
import { judgeGoodLog, judgeOutcome } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { keepsIndexes } from '../rig/engine-api.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import { shareInstance } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';

// docs/contract.md 3.15: the running version is identified by its content. A tag may be published again with another
// attestation. This changes the digest of the index and, with the containerd store, the id of the image.

const attested = (attestation: string, version = '1.0.0'): ReleaseOptions => ({ version, attestation });

const instance = shareInstance({ tag: 'latest', release: attested('first'), publish: [] });

/** Nothing is stopped, and the tag points to the pulled image, as after every `unchanged`. */
async function expectUnchanged(): Promise<void> {
  const before = await look(instance());
  const result = await instance().update([], { env: { SVC_UPDATER_TRACE: '1' } });
  const after = await look(instance());
  const facts = [
    ...judgeOutcome(result, ['unchanged']),
    ...judgeUntouched(before, { ...after, tags: before.tags }),
    ...judgeGoodLog(result, {}),
  ];
  expect(facts, result.log).toEqual([]);
  // Each list takes longer with more containers. There is one for: the own container, the projects, their workers, this
  // project, containers that share a namespace, and containers that share data.
  const lists = result.log.split('\n').filter((line) => /^trace .* GET \/containers\/json /.test(line));
  expect(lists.length, result.log).toBeLessThanOrEqual(6);
}

test('the outcome is unchanged if a floating tag was published again with the same content', async () => {
  const byHand = Number.parseFloat((await instance().compose('version', '--short')).replace(/^\D*/, ''));
  await instance().publish('latest', attested('second'));
  // Up to 5.2, compose stores the id of the index, so such a container is recreated once.
  if (byHand < 5.3 && (await keepsIndexes())) await updateWell(instance(), [], { version: 'v1.0.0' });
  else await expectUnchanged();
  await instance().publish('latest', attested('third'));
  await expectUnchanged();
});
