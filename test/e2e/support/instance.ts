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

/**
 * A running instance of the test's own, removed when the test has ended, however it ended.
 * @param onFinished from the context of a concurrent test; without it, vitest may remove the instance after another test
 */
export async function createInstance(
  options: InstanceOptions = {},
  onFinished = onTestFinished,
): Promise<Instance> {
  const instance = await startInstance(inject('host'), options);
  onFinished(() => leave(instance));
  return instance;
}
