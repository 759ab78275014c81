import { execa } from 'execa';
import { phases } from '../../src/progress/event.ts';
import type { Outcome } from '../../src/progress/outcome.ts';
import { expectMeddled, expectUpKeepsVersion } from './expect.ts';
import type { Fault, Trial } from './fault.ts';
import type { InstallName } from './install.ts';
import { atMoment, onLine } from './kill.ts';

// An operator's own compose calls beside an update. The call may fail, and so may the update; but every service ends
// with its containers, and the last line is true.

const installs: readonly InstallName[] = ['variable', 'generated', 'inline', 'default-tag', 'cluster'];

const calls: readonly { args: readonly string[]; shortTries: number }[] = [
  { args: ['up', '-d'], shortTries: 0 },
  { args: ['up', '-d', '--force-recreate'], shortTries: 1 },
  { args: ['up', '-d', '--force-recreate', 'db'], shortTries: 0 },
  { args: ['up', '-d', '--force-recreate', 'app', 'worker'], shortTries: 0 },
  { args: ['restart'], shortTries: 0 },
  { args: ['pull'], shortTries: 0 },
  { args: ['down'], shortTries: 0 },
];

/** With 7 phases and 5 kinds of installs, each call meets each phase in 7 tries. */
export const meddlingFaults: readonly Fault[] = calls.map(({ args, shortTries }) => ({
  group: 'people',
  name: `docker compose ${args.join(' ')} by hand, each phase`,
  installs,
  tries: phases.length,
  shortTries,
  run: (trial) => tryCall(trial, args),
}));

/** Stops and starts that take a while hold `recreate` and `verify` open, so that the two meet in the middle. */
const slow = { env: { STOP_DELAY: '1', READY_AFTER: '1' } };

async function tryCall(trial: Trial, args: readonly string[]): Promise<void> {
  const subject = await trial.subject();
  const { instance } = subject;
  const before = await subject.look();
  const to = await subject.publish(slow);
  const phase = phases[trial.seed % phases.length] ?? 'recreate';
  const moment = onLine(phase, trial.random.pick([0, 40, 150, 600, 1500]));
  let byHand = 'never called';
  const { run, why } = await atMoment(
    moment,
    instance,
    () => subject.start(to),
    async () => {
      byHand = await instance.compose(...args).then(
        () => 'went well',
        (error: { all?: string }) => `failed: ${error.all?.trim().split('\n').at(-1)}`,
      );
    },
  );
  const result = await run.done;
  trial.note(`${why ?? 'the moment came too late'}: the call ${byHand}`);
  // Whatever is left of the instance, the files are of one version.
  if (args[0] === 'down') await instance.compose('up', '-d');
  const wanted: readonly Outcome[] = ['updated', 'unchanged', 'refused', 'failed', 'broken'];
  const outcome = await expectMeddled({ subject, before, to }, result, wanted, byHand.startsWith('failed'));
  trial.note(`the run ended ${outcome}`);
  // What the person has to clear up, whose call has failed.
  const { strays } = await instance.snapshot();
  for (const stray of strays) await execa('docker', ['rm', '--force', stray.replace(/ .*/, '')]);
  await expectMeddled({ subject, before, to }, await subject.update(to), ['updated', 'unchanged']);
  await expectUpKeepsVersion(subject);
}
