import { inject, onTestFinished } from 'vitest';
import { type Instance, startInstance } from '../../instance/instance.ts';
import type { InstanceOptions } from '../../instance/instance-options.ts';

export type { Instance } from '../../instance/instance.ts';

/** A running instance of the test's own, removed when the test has ended, however it ended. */
export async function createInstance(options: InstanceOptions = {}): Promise<Instance> {
  const instance = await startInstance(inject('host'), options);
  onTestFinished(() => instance.dispose());
  return instance;
}
