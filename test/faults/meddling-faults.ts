import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { type Phase, phases } from '../../src/core/progress/event.ts';
import type { Outcome } from '../../src/core/progress/outcome.ts';
import { startBadRegistry } from '../rig/bad-registry.ts';
import type { Instance } from '../rig/instance.ts';
import { plainPhases } from '../rig/phases.ts';
import type { UpdaterRun } from '../rig/updater-run.ts';
import { type Call, expectBeside, expectMeddled, expectUpKeepsVersion } from './expect.ts';
import type { Fault, Trial } from './fault.ts';
import type { InstallName } from './install.ts';
import type { Subject } from './subject.ts';

// An operator's own commands beside an update. The command may fail, and so may the update; but every service has its
// containers afterwards, unless the command was to remove them, and the last line is true.

const installs: readonly InstallName[] = [
  'variable',
  'generated',
  'inline',
  'default-tag',
  'cluster',
  'moved',
];

interface Meddling {
  /**
   * Arguments of `docker compose`; or of `docker`, with a service at the end that stands for its first container; or
   * `system prune`, for objects of the instance.
   */
  args: readonly string[];
  by?: 'docker' | 'prune';
  /** The intended state: all containers running, some stopped, or some removed. Default up. */
  leaves?: Call['leaves'];
  shortTries?: number;
}

const calls: readonly Meddling[] = [
  { args: ['up', '-d'], shortTries: 1 },
  { args: ['up', '-d', '--force-recreate'], shortTries: 1 },
  { args: ['up', '-d', '--pull', 'always'] },
  { args: ['up', '--no-start', '--force-recreate', 'worker'], leaves: 'down' },
  { args: ['restart'] },
  { args: ['stop', 'db'], leaves: 'down' },
  { args: ['kill'], leaves: 'down' },
  { args: ['pause', 'app'], leaves: 'down' },
  { args: ['rm', '--stop', '--force', 'worker'], leaves: 'gone' },
  { args: ['down'], leaves: 'gone' },
  { args: ['stop', 'worker'], by: 'docker', leaves: 'down' },
  { args: ['rm', '--force', 'app'], by: 'docker', leaves: 'gone' },
  { args: ['system', 'prune', '--all'], by: 'prune' },
];

/**
 * Each command meets each phase within 7 tries. Because there are 6 kinds of installs, the kind changes from one seed
 * to the next.
 */
export const meddlingFaults: readonly Fault[] = calls.map((call) => ({
  group: 'people',
  name: `docker ${call.by ? '' : 'compose '}${call.args.join(' ')} by hand, each phase`,
  installs,
  tries: plainPhases.length,
  shortTries: call.shortTries ?? 0,
  run: (trial) => tryCall(trial, call),
}));

/** The time of the command: milliseconds after the run was started, after a phase has begun, or after the end. */
type When = { start: number } | { phase: Phase; afterMs: number } | { end: number };

const after = (phase: Phase, ...delays: number[]): When[] => delays.map((afterMs) => ({ phase, afterMs }));

/** Compose takes 0.2 s before it changes anything: a command for a short phase starts before that phase. */
const moments: Record<Exclude<Phase, 'save'>, readonly When[]> = {
  inspect: [{ start: 300 }, { start: 500 }, ...after('inspect', 0, 0, 40)],
  plan: after('plan', 0, 40, 100),
  pull: after('plan', 200, 500, 1_000, 1_800, 2_500),
  write: [...after('write', 0, 20), ...after('plan', 250, 400)],
  recreate: after('recreate', 0, 40, 150, 600, 1_500),
  verify: after('verify', 0, 40, 150, 600, 1_500),
  done: [...after('done', 0), { end: 0 }, { end: 100 }],
};

/** Slow stops and starts extend `recreate` and `verify`, so that update and command overlap. */
const slow = { env: { STOP_DELAY: '1', READY_AFTER: '2' } };

type Typed = (instance: Instance, args: readonly string[]) => Promise<unknown>;

const typed: Record<'compose' | 'docker' | 'prune', Typed> = {
  compose: (instance, args) => instance.compose(...args),
  docker: ({ project }, args) =>
    execa('docker', [...args.slice(0, -1), `${project}-${args.at(-1)}-1`], { all: true }),
  // Removes stopped containers, then all unused images; the engine refuses to remove the others.
  prune: async ({ project, image }) => {
    const label = `label=com.docker.compose.project=${project}`;
    await execa('docker', ['container', 'prune', '--force', '--filter', label], { all: true });
    const format = '{{.Repository}}:{{.Tag}}';
    const { stdout } = await execa('docker', ['image', 'ls', '--format', format, image]);
    for (const each of stdout.split('\n').filter(Boolean)) {
      await execa('docker', ['image', 'rm', each], { reject: false });
    }
  },
};

async function tryCall(trial: Trial, meddling: Meddling): Promise<void> {
  const { args, by, leaves = 'up' } = meddling;
  const phase = plainPhases[trial.seed % plainPhases.length] ?? 'recreate';
  const when = trial.random.pick(moments[phase]);
  const { subject, slowDown } = await subjectFor(trial, phase);
  const { instance } = subject;
  const before = await subject.look();
  const to = await subject.publish(phase === 'pull' ? { ...slow, ballast: 1_500_000 } : slow);
  slowDown();

  // The updater waits no longer than that for a container that the operator has stopped.
  const run = subject.start(to, {}, '--wait-timeout', '60');
  await moment(run, instance, when);
  const begunIn = await phaseOf(run, instance);
  const call: Call = { leaves, failure: null, endedFirst: false };
  await typed[by ?? 'compose'](instance, args).catch((error: { all?: string; message: string }) => {
    call.failure = error.all?.trim().split('\n').at(-1) || error.message;
  });
  const endedIn = await phaseOf(run, instance);
  call.endedFirst = endedIn !== 'done';
  const result = await run.done;

  const said = call.failure === null ? 'went well' : `failed: ${call.failure}`;
  trial.note(`${phase}: ${JSON.stringify(when)}, begun in ${begunIn}, ended in ${endedIn}: the call ${said}`);
  trial.note(`the run: ${result.lines.at(-1)?.message}`);
  const attempt = { subject, before, to };
  const wanted: readonly Outcome[] = ['updated', 'unchanged', 'refused', 'failed', 'broken'];
  await expectBeside(attempt, result, wanted, call);
  await restoreAll(instance, leaves);
  // The files are of one version, whatever remains of the instance.
  await expectMeddled(attempt, result, wanted, call.failure !== null);
  await removeStrays(instance);
  await expectMeddled(attempt, await subject.update(to), ['updated', 'unchanged']);
  await expectUpKeepsVersion(subject);
}

/** The operator restores what the command has stopped or removed. */
async function restoreAll(instance: Instance, leaves: Call['leaves']): Promise<void> {
  if (leaves === 'up') return;
  await removeStrays(instance);
  await instance.compose('unpause').catch(() => {});
  await instance.compose('up', '-d');
}

/** The operator removes what a failed command has left. */
async function removeStrays(instance: Instance): Promise<void> {
  const { strays } = await instance.snapshot();
  for (const stray of strays) await execa('docker', ['rm', '--force', stray.replace(/ .*/, '')]);
}

/** If the command is to meet the pull, the pull takes two seconds. */
async function subjectFor(trial: Trial, phase: Phase): Promise<{ subject: Subject; slowDown: () => void }> {
  if (phase !== 'pull') return { subject: await trial.subject(), slowDown: () => {} };
  const registry = await startBadRegistry(trial.host.registry);
  trial.finally(() => registry.close());
  const subject = await trial.subject({ registry: registry.host });
  return {
    subject,
    slowDown: () => registry.fail({ kind: 'slow', bytesPerSecond: 700_000 }, { on: 'blobs' }),
  };
}

/** Waits for the moment, or for the end of the run. */
async function moment(run: UpdaterRun, instance: Instance, when: When): Promise<void> {
  if ('end' in when) {
    await run.done;
    await sleep(when.end);
  } else if ('start' in when) {
    await sleep(when.start);
  } else {
    const hasBegun = (phase: string) => phases.indexOf(phase as Phase) >= phases.indexOf(when.phase);
    while (!hasBegun(await phaseOf(run, instance))) await sleep(10);
    await sleep(when.afterMs);
  }
}

/** The phase of the newest line; from the pull on, the journal has it sooner. */
async function phaseOf(run: UpdaterRun, instance: Instance): Promise<string> {
  const said = run.log.trim().split('\n').at(-1)?.split(/ +/)[2] ?? 'no phase';
  if (!['pull', 'write', 'recreate', 'verify'].includes(said)) return said;
  const journal = await instance.read('.svc-updater/journal.json').catch(() => '');
  const at = /"at":\s*"([a-z-]+)"/.exec(journal)?.[1] ?? '';
  const words: Record<string, string> = {
    pulling: 'pull',
    writing: 'write',
    replacing: 'recreate',
    verifying: 'verify',
  };
  return words[at] ?? said;
}
