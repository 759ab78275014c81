import { afterAll, inject, onTestFinished } from 'vitest';
import { type Instance, startInstance } from '../../rig/instance.ts';
import type { InstanceOptions } from '../../rig/instance-options.ts';

export type { Instance } from '../../rig/instance.ts';

/** Only the two updated services, for tests that need no other services. */
export const alone = { up: ['--no-deps', 'app', 'worker'] } satisfies InstanceOptions;

const leaving: Promise<void>[] = [];
// A test file finishes when all its instances are removed; a failed removal fails the file.
afterAll(() => Promise.all(leaving));

/** Removes the instance while the next test runs. */
export function leave(instance: Instance): void {
  const gone = instance.dispose();
  gone.catch(() => {});
  leaving.push(gone);
}

/**
 * A running instance for one test, removed after the test in any case.
 * @param onFinished from the context of a concurrent test; without it, vitest may remove the instance after another
 * test
 */
export async function createInstance(
  options: InstanceOptions = {},
  onFinished = onTestFinished,
): Promise<Instance> {
  const instance = await startInstance(inject('host'), options);
  onFinished(() => leave(instance));
  return instance;
}
