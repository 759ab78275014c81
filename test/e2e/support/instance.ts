import { createHash } from 'node:crypto';
import { execa } from 'execa';
import { afterAll, inject, onTestFinished } from 'vitest';
import { type Instance, startInstance } from '../../rig/instance.ts';
import type { InstanceOptions } from '../../rig/instance-options.ts';

export type { Instance } from '../../rig/instance.ts';

/** Only the two that an update moves, for tests in which it makes no difference that others stand beside them. */
export const alone = { up: ['--no-deps', 'app', 'worker'] } satisfies InstanceOptions;

const leaving: Promise<void>[] = [];
// A file has ended when all its instances are gone; what cannot be removed fails it.
afterAll(() => Promise.all(leaving));

/** Removes the instance beside the next test. */
export function leave(instance: Instance): void {
  const gone = instance.dispose();
  gone.catch(() => {});
  leaving.push(gone);
}

/** A running instance of the test's own, removed when the test has ended, however it ended. */
export async function createInstance(options: InstanceOptions = {}): Promise<Instance> {
  const instance = await startInstance(inject('host'), options);
  onTestFinished(() => leave(instance));
  return instance;
}

/**
 * Starts it anew on a network as some compose made it: from 2.31 on with the hash of its definition, before without.
 * @param up further arguments of `up`
 */
export async function remakeNetwork(
  instance: Instance,
  key: string,
  { hash, up = [] }: { hash: boolean; up?: string[] },
): Promise<void> {
  await instance.compose('down');
  const { networks } = JSON.parse(await instance.compose('config', '--format', 'json'));
  const labels = {
    network: key,
    project: instance.project,
    ...(hash && { 'config-hash': createHash('sha256').update(JSON.stringify(networks[key])).digest('hex') }),
  };
  const flags = Object.entries(labels).flatMap(([name, value]) => [
    '--label',
    `com.docker.compose.${name}=${value}`,
  ]);
  await execa('docker', ['network', 'create', ...flags, `${instance.project}_${key}`]);
  await instance.compose('up', '-d', ...up);
  await instance.waitUntilHealthy();
}
