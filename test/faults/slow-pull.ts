import { startBadRegistry } from '../rig/bad-registry.ts';
import type { Attempt } from './expect.ts';
import type { Trial } from './fault.ts';

/** An instance whose next release takes two seconds to pull. */
export async function slowPull(trial: Trial): Promise<Attempt> {
  const registry = await startBadRegistry(trial.host.registry);
  trial.finally(() => registry.close());
  const subject = await trial.subject({ registry: registry.host });
  const before = await subject.look();
  const to = await subject.publish({ ballast: 2_000_000 });
  registry.fail({ kind: 'slow', bytesPerSecond: 1_000_000 }, { on: 'blobs' });
  return { subject, before, to };
}
