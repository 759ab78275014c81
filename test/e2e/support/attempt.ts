import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, inject, onTestFinished } from 'vitest';
import { listContainers, listImages } from '../../rig/engine-api.ts';
import { startInstance } from '../../rig/instance.ts';
import type { InstanceOptions } from '../../rig/instance-options.ts';
import type { UpdateResult, UpdaterOptions } from '../../rig/updater-run.ts';
import { expectBroughtBack, expectUntouched } from './expect-update.ts';
import { type Instance, leave } from './instance.ts';

/** What stands somewhere in the log. */
export type Says = readonly (string | RegExp)[];

export interface Attempt {
  exitCode: number;
  /** Sentences of the log, wherever they stand. */
  says: Says;
  /** The last line from its first word on, or parts of it. */
  ends: Says;
  /** Must be nowhere in the log. */
  never?: Says;
}

/** Runs the updater where it must not change a thing, and holds its words and its exit code against what is expected. */
export async function expectAttempt(
  instance: Instance,
  args: readonly string[],
  expected: Attempt,
  options: UpdaterOptions = {},
): Promise<UpdateResult> {
  const before = await instance.snapshot();
  const images = await localImages(instance);
  const result = await instance.update(args, options);
  expectWords(result, expected);
  expectUntouched(before, await instance.snapshot());
  await expectTagsKept(instance, images);
  await expectNothingLeft(instance);
  return result;
}

export function expectWords({ exitCode, log, lines }: UpdateResult, expected: Attempt): void {
  expect(exitCode, log).toBe(expected.exitCode);
  for (const text of expected.says) expectMatch(log, text);
  for (const text of expected.never ?? []) expect(log).not.toMatch(text);
  const last = lines.at(-1);
  expect(last?.phase, log).toBe('done');
  for (const text of expected.ends) expectMatch(last?.message ?? '', text);
  // A stack trace is no sentence that a tired operator understands.
  expect(log).not.toMatch(/^ +at \S+ \(|node:internal|UpdateError/m);
}

function expectMatch(log: string, text: string | RegExp): void {
  if (typeof text === 'string') expect(log).toContain(text);
  else expect(log).toMatch(text);
}

/** Ids by reference of all images of the instance's repository that have a tag. */
export async function localImages(instance: Instance): Promise<Record<string, string>> {
  const images = await listImages(instance.image);
  return Object.fromEntries(
    images.flatMap(({ id, tags }) =>
      tags.filter((tag) => tag.startsWith(`${instance.image}:`)).map((tag) => [tag, id]),
    ),
  );
}

/** Nothing waits for the operator's own next `docker compose up -d`: every tag names what it named, if it named any. */
async function expectTagsKept(instance: Instance, before: Record<string, string>): Promise<void> {
  expect(await localImages(instance)).toMatchObject(before);
}

/** An instance of a concurrent test's own, which has to say itself when it has ended. */
export async function createInstanceFor(
  finished: (remove: () => Promise<void>) => void,
  options: InstanceOptions,
): Promise<Instance> {
  const instance = await startInstance(inject('host'), options);
  finished(async () => leave(instance));
  return instance;
}

/**
 * The operator's own next `docker compose up -d` starts nothing new. It may recreate what the updater's compose has
 * brought back: compose up to 2.29.2 takes the hash of another version for a change.
 */
export async function expectUpKeepsVersion(instance: Instance, ...up: string[]): Promise<void> {
  const before = await instance.snapshot();
  await instance.compose('up', '-d', ...up);
  await instance.waitUntilHealthy();
  expectBroughtBack(before, await instance.snapshot());
}

/** The operator's own next `docker compose up -d` changes nothing. */
export async function expectUpDoesNothing(instance: Instance): Promise<void> {
  const before = await instance.snapshot();
  await instance.compose('up', '-d');
  expectUntouched(before, await instance.snapshot());
}

const kept = ['.gitignore', 'backup', 'journal.json', 'last-run.log'];

/** Neither a lock nor a temporary file nor a container that was only made to copy files from. */
export async function expectNothingLeft(instance: Instance): Promise<void> {
  const names = await readdir(join(instance.directory, '.svc-updater')).catch(() => [] as string[]);
  expect(names.filter((name) => !kept.includes(name))).toEqual([]);
  const scratch = await listContainers({ label: [`svc-updater.scratch=${instance.project}`] });
  expect(scratch, 'containers that were only made to copy files from').toEqual([]);
}

/** One instance for all tests of a `describe`; each must leave it as it was. */
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
 * Keeps the files of a shared instance and puts them back when the test has ended, `data` excepted: app and worker
 * write there meanwhile, by files that come and go.
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
