import { expect, test } from 'vitest';
import { judgeUntouched } from '../judge/judge.ts';
import { judgeGoodLog, judgeOutcome } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { keepsIndexes } from '../rig/engine-api.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import { shareInstance } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';

// docs/contract.md 3.15: what runs is told by its content. Builders publish a tag again with other attestations, which
// gives its index another digest, and its image, with the containerd store, another id.

const attested = (attestation: string, version = '1.0.0'): ReleaseOptions => ({ version, attestation });

const instance = shareInstance({ tag: 'latest', release: attested('first'), publish: [] });

/** Nothing is stopped, and the tag names what was pulled, as after every `unchanged`. */
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
  // Each takes the longer the more containers there are: the own one, the projects, their workers, this project's,
  // those that share a namespace, and those that have the same data.
  const lists = result.log.split('\n').filter((line) => /^trace .* GET \/containers\/json /.test(line));
  expect(lists.length, result.log).toBeLessThanOrEqual(6);
}

test('a floating tag that was published again with the same content is unchanged', async () => {
  const byHand = Number.parseFloat((await instance().compose('version', '--short')).replace(/^\D*/, ''));
  await instance().publish('latest', attested('second'));
  // Up to 5.2 compose notes the id of the index: whoever has such a container gets a new one, once.
  if (byHand < 5.3 && (await keepsIndexes())) await updateWell(instance(), [], { version: 'v1.0.0' });
  else await expectUnchanged();
  await instance().publish('latest', attested('third'));
  await expectUnchanged();
});
