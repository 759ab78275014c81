import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, inject, onTestFinished } from 'vitest';
import { judgeUntouched } from '../../judge/judge.ts';
import { type ExpectedWords, judgeWords } from '../../judge/log.ts';
import { look } from '../../judge/look.ts';
import { startInstance } from '../../rig/instance.ts';
import type { InstanceOptions } from '../../rig/instance-options.ts';
import type { UpdateResult, UpdaterOptions } from '../../rig/updater-run.ts';
import { type Instance, leave } from './instance.ts';

/** Runs the updater in a case in which it must change nothing, and checks its output and exit code. */
export async function expectAttempt(
  instance: Instance,
  args: readonly string[],
  expected: ExpectedWords,
  options: UpdaterOptions = {},
): Promise<UpdateResult> {
  const before = await look(instance);
  const result = await instance.update(args, options);
  const facts = [...judgeWords(result, expected), ...judgeUntouched(before, await look(instance))];
  expect(facts, result.log).toEqual([]);
  return result;
}

export function expectWords(result: UpdateResult, expected: ExpectedWords): void {
  expect(judgeWords(result, expected), result.log).toEqual([]);
}

/** An instance for a concurrent test, which passes its own `onTestFinished`. */
export async function createInstanceFor(
  finished: (remove: () => Promise<void>) => void,
  options: InstanceOptions,
): Promise<Instance> {
  const instance = await startInstance(inject('host'), options);
  finished(async () => leave(instance));
  return instance;
}

/** One instance for all tests of a `describe`. Each test must leave it unchanged. */
export function shareInstance(options: InstanceOptions = {}): () => Instance {
  let instance: Instance | undefined;
  beforeAll(async () => {
    instance = await startInstance(inject('host'), options);
  });
  afterAll(() => {
    if (instance) leave(instance);
  });
  return () => {
    if (instance === undefined) throw new Error('the shared instance is not there');
    return instance;
  };
}

/**
 * Saves the files of a shared instance and restores them after the test, except `data`, in which app and worker write
 * temporary files.
 */
export async function keepFiles({ directory }: Instance): Promise<void> {
  const spare = `${directory}.spare`;
  const others = async (path: string) => (await readdir(path)).filter((name) => name !== 'data');
  const copy = async (from: string, to: string) =>
    execa('cp', ['-a', ...(await others(from)).map((name) => join(from, name)), to]);
  await mkdir(spare);
  await copy(directory, spare);
  onTestFinished(async () => {
    for (const name of await others(directory)) await rm(join(directory, name), { recursive: true });
    await copy(spare, directory);
    await rm(spare, { recursive: true });
  });
}
