import {
  type BadRegistry,
  type FaultScope,
  type RegistryFault,
  registryFaults,
  startBadRegistry,
} from '../rig/bad-registry.ts';
import { expectEnding, expectPins, nextRun } from './expect.ts';
import { expectThat, type Fault, type Trial } from './fault.ts';
import type { InstallName } from './install.ts';

// The registry fails, and the update fails without changes; then the registry works again.

const kinds: readonly InstallName[] = ['variable', 'generated', 'moved', 'cluster', 'canary', 'inline'];

interface Story {
  fail(registry: BadRegistry): Promise<void> | void;
  args?: readonly string[];
}

const told = (fault: RegistryFault, scope?: FaultScope): Story => ({
  fail: (registry) => registry.fail(fault, scope),
});

const stories: Record<string, Story> = {
  'refuses connections': { fail: (registry) => registry.down() },
  'answers 401': told(registryFaults.denied),
  'answers 404': told(registryFaults.unknown),
  'answers 429 with Retry-After': told(registryFaults.busy),
  'answers 500': told(registryFaults.error),
  'cuts a blob short': {
    ...told({ kind: 'cut', after: 1_000 }, { on: 'blobs' }),
    args: ['--pull-timeout', '8'],
  },
  'sends a blob with a wrong digest': told(registryFaults.corrupt, { on: 'blobs' }),
  'stalls for ever': { ...told(registryFaults.stall, { on: 'blobs' }), args: ['--pull-timeout', '4'] },
};

async function tryRegistry(trial: Trial, { fail, args = [] }: Story): Promise<void> {
  const registry = await startBadRegistry(trial.host.registry);
  trial.finally(() => registry.close());
  const subject = await trial.subject({ registry: registry.host });
  const before = await subject.look();
  // Long enough to be interrupted.
  const attempt = { subject, before, to: await subject.publish({ ballast: 4_000 }) };
  await fail(registry);
  const outcome = await expectEnding(attempt, await subject.update(attempt.to, {}, ...args));
  expectThat(outcome === 'failed', `the run ended ${outcome} although the registry fails`);
  trial.note('failed without a trace; now the registry is well again');
  registry.fail(null);
  // Also closes stalled connections: otherwise the engine keeps waiting, and the next pull would wait with it.
  await registry.down();
  await registry.up();
  await nextRun(attempt);
  await expectPins(subject);
}

export const faults: readonly Fault[] = Object.entries(stories).map(([name, story]) => ({
  group: 'registry',
  name,
  installs: kinds,
  tries: 3,
  // test/e2e/exit-codes.test.ts contains some of these faults.
  shortTries: 0,
  run: (trial) => tryRegistry(trial, story),
}));
