import type { Instance } from '../rig/instance.ts';
import { judgeBroughtBack, judgeUntouched } from './judge.ts';
import { look } from './look.ts';

/**
 * Does the operator's own next `docker compose up -d`, and judges it: it starts nothing of another version and touches
 * nobody else. It may recreate what the updater's compose has made: compose up to 2.29.2 takes the hash of another
 * version for a change.
 */
export async function judgeUpKeepsVersion(instance: Instance, ...up: string[]): Promise<string[]> {
  const before = await look(instance);
  await instance.compose('up', '-d', ...up);
  await instance.waitUntilHealthy();
  return judgeBroughtBack(before, await look(instance)).map(afterUp);
}

/** The same, and that it changes nothing at all. */
export async function judgeUpDoesNothing(instance: Instance): Promise<string[]> {
  const before = await look(instance);
  await instance.compose('up', '-d');
  return judgeUntouched(before, await look(instance)).map(afterUp);
}

/** Without doing it, in 0.1 s instead of 2: the files name that tag wherever they name the instance's image. */
export async function judgePins(instance: Instance, tag: string): Promise<string[]> {
  const references = (await instance.compose('config', '--images')).split('\n');
  return references
    .filter((each) => each.startsWith(`${instance.image}:`) && each !== `${instance.image}:${tag}`)
    .map((each) => `the files name ${each}, and ${tag} runs`);
}

const afterUp = (fact: string): string => `after the operator's own docker compose up -d: ${fact}`;
