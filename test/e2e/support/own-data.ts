import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { composeText } from '../../rig/compose-text.ts';
import { listImages } from '../../rig/engine-api.ts';
import type { InstanceOptions } from '../../rig/instance-options.ts';
import type { Layout, LayoutContext } from '../../rig/layout.ts';
import type { UpdateResult, UpdaterOptions, UpdaterRun } from '../../rig/updater-run.ts';
import { createInstance, type Instance } from './instance.ts';
import { holdTools } from './pause-helper.ts';

/** The plain instance without the data directory of the app in the database: no other service writes there. */
export const ownData = (c: LayoutContext): Layout => ({
  files: {
    'compose.yaml': composeText({ app: `${c.image}:\${SVC_VERSION}`, parts: c.parts, ...c.text }).replace(
      ", './data/dump:/dump'",
      '',
    ),
    '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
  },
  flags: [],
});

/** An instance with app, worker and database, and a note in the data of the app. */
export async function createWithData(
  options: InstanceOptions = {},
  onFinished?: Parameters<typeof createInstance>[1],
): Promise<Instance> {
  const plain = { layout: ownData, up: ['--no-deps', 'app', 'worker', 'db'] };
  const instance = await createInstance({ ...plain, ...options }, onFinished);
  await instance.write('data/note', 'of v1.0.0\n');
  return instance;
}

export const allUp = { app: 'running', worker: 'running', db: 'running' };

/** The state of each service: `running` or `exited`. */
export const statesOf = async (instance: Instance): Promise<Record<string, string>> =>
  Object.fromEntries(
    Object.values(await instance.containers()).map(({ service, status }) => [service, status]),
  );

export const restoreOf = ({ directory }: Instance): string => join(directory, '.svc-updater', 'restore');

/** The directories of the restore points of an instance. */
export const pointsOf = (instance: Instance, directory = restoreOf(instance)): Promise<string[]> =>
  readdir(directory).then(
    (names) => names.sort().map((name) => join(directory, name)),
    () => [],
  );

/** The tags that protect the images of the restore points of an instance. */
export const heldImages = async ({ project }: Instance): Promise<string[]> =>
  (await listImages('svc-updater-restore-point'))
    .flatMap(({ tags }) => tags)
    .filter((tag) => tag.includes(`:${project}-`));

export interface HeldRun {
  args: readonly string[];
  options?: UpdaterOptions;
  /** Verb of the helper container that is held, from the k-th on. */
  verb: Parameters<typeof holdTools>[1];
  k?: number;
}

/** Runs the updater, holds it at this helper container, calls `act`, and lets it continue. */
export async function during(
  instance: Instance,
  { args, options = {}, verb, k = 1 }: HeldRun,
  act: (run: UpdaterRun) => Promise<unknown>,
): Promise<UpdateResult> {
  const held = await holdTools(instance, verb, k);
  const run = instance.startUpdate(args, { ...options, socket: held.socket });
  const early = run.done.then(({ log }) => Promise.reject(new Error(`no ${verb} ${k}:\n${log}`)));
  await Promise.race([held.reached, early]);
  early.catch(() => {});
  await act(run);
  held.go();
  return run.done;
}

/** Checks that the instance is unchanged and no restore point is left. */
export async function expectAsBefore(instance: Instance, log: string): Promise<void> {
  await instance.waitUntilHealthy();
  expect(await statesOf(instance), log).toEqual(allUp);
  expect(await instance.version(), log).toBe('v1.0.0');
  expect(await pointsOf(instance), log).toEqual([]);
  expect(await heldImages(instance), log).toEqual([]);
  expect(await instance.read('.env')).toContain('SVC_VERSION=v1.0.0');
  expect(await instance.read('data/note')).toBe('of v1.0.0\n');
}

/** Checks that the instance is updated, and that its restore point has the data from after all services stopped. */
export async function expectSavedAndUpdated(instance: Instance, log: string): Promise<void> {
  await instance.waitUntilHealthy();
  expect(await statesOf(instance), log).toEqual(allUp);
  expect(await instance.version(), log).toBe('v1.1.0');
  const points = await pointsOf(instance);
  expect(points, log).toHaveLength(1);
  // The images of app, database and updater.
  expect(await heldImages(instance), log).toHaveLength(3);
  const copy = join(points[0] ?? '', '1-app', '0');
  expect(await readFile(join(copy, 'note'), 'utf8')).toBe('of v1.0.0\n');
  expect(await readFile(join(copy, 'boots'), 'utf8')).not.toContain('v1.1.0');
}

/** Checks that all services run with their old data after the failed release v1.1.1 was rolled back. */
export async function expectRestored(instance: Instance, log: string): Promise<void> {
  await instance.waitUntilHealthy();
  expect(await statesOf(instance), log).toEqual(allUp);
  expect(await instance.version(), log).toBe('v1.0.0');
  expect(await instance.read('data/note'), log).toBe('of v1.0.0\n');
  expect(await instance.read('.env')).toContain('SVC_VERSION=v1.0.0');
  expect((await instance.boots()).join(), log).not.toContain('v1.1.1');
}
