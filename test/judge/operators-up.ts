import type { Instance } from '../rig/instance.ts';
import { judgeBroughtBack, judgeUntouched } from './judge.ts';
import { look } from './look.ts';

/**
 * Runs `docker compose up -d` like the operator, and checks that it starts no other version and leaves unrelated
 * containers unchanged. It may recreate containers that the updater's compose has created: compose up to 2.29.2 treats
 * the hash of another compose version as a change.
 */
export async function judgeUpKeepsVersion(instance: Instance, ...up: string[]): Promise<string[]> {
  const before = await look(instance);
  await instance.compose('up', '-d', ...up);
  await instance.waitUntilHealthy();
  return judgeBroughtBack(before, await look(instance)).map(afterUp);
}

/** Also checks that `up` changes nothing at all. */
export async function judgeUpDoesNothing(instance: Instance): Promise<string[]> {
  const before = await look(instance);
  await instance.compose('up', '-d');
  return judgeUntouched(before, await look(instance)).map(afterUp);
}

/**
 * Checks the same without running `up`, in 0.1 s instead of 2 s: the files specify this tag for the instance's image.
 */
export async function judgePins(instance: Instance, tag: string): Promise<string[]> {
  const references = (await instance.compose('config', '--images')).split('\n');
  return references
    .filter((each) => each.startsWith(`${instance.image}:`) && each !== `${instance.image}:${tag}`)
    .map((each) => `the files name ${each}, and ${tag} runs`);
}

const afterUp = (fact: string): string => `after the operator's own docker compose up -d: ${fact}`;
