import { appendFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { endingOf } from '../judge/log.ts';
import { findContainers } from '../rig/engine-api.ts';
import { plainPhases } from '../rig/phases.ts';
import type { UpdaterRun } from '../rig/updater-run.ts';
import {
  type Allowance,
  expectEnding,
  expectPins,
  expectUpdated,
  expectUpKeepsVersion,
  nextRun,
} from './expect.ts';
import { expectThat, type Fault, type Trial } from './fault.ts';
import { type InstallName, installNames, installs } from './install.ts';
import { atMoment, killAt, onEngineStep, onLine } from './kill.ts';
import { meddlingFaults } from './meddling-faults.ts';
import type { Subject } from './subject.ts';

// Actions of users during an update, or after a failed one.

const few: readonly InstallName[] = ['variable', 'generated', 'moved', 'inline', 'canary', 'cluster'];

const person = (
  name: string,
  installs: readonly InstallName[],
  [tries, shortTries]: [number, number],
  run: Fault['run'],
): Fault => ({ group: 'people', name, installs, tries, shortTries, run });

/** The phase selected by the seed; 7 phases and a different number of installs combine each with each. */
const phaseOf = ({ seed }: Trial) => plainPhases[seed % plainPhases.length] ?? 'recreate';

/** A user acts when a phase begins, or a moment later. The result matches the last line, and the next run succeeds. */
async function tryInPhase(
  trial: Trial,
  act: (subject: Subject, run: UpdaterRun) => Promise<unknown>,
  allowance: Allowance = {},
  moreFacts?: (phase: string, outcome: string, exitCode: number) => void,
): Promise<void> {
  const subject = await trial.subject();
  const before = await subject.look();
  const to = await subject.publish();
  const phase = phaseOf(trial);
  const moment = onLine(phase, trial.random.pick([0, 0, 40, 150]));
  const { run, why } = await atMoment(
    moment,
    subject.instance,
    () => subject.start(to),
    (updater) => act(subject, updater),
  );
  const result = await run.done;
  const outcome = await expectEnding({ subject, before, to }, result, allowance);
  trial.note(`${why ?? `the moment (${moment.name}) came too late`}: ${outcome}`);
  if (why !== null) moreFacts?.(phase, outcome, result.exitCode);
  await nextRun({ subject, before, to }, allowance);
  await expectPins(subject);
}

async function trySignal(
  trial: Trial,
  send: (run: UpdaterRun) => Promise<void>,
  exitCode: number,
): Promise<void> {
  await tryInPhase(
    trial,
    (_, run) => send(run),
    {},
    (phase, outcome, code) => {
      const late = ['recreate', 'verify', 'done'].includes(phase);
      expectThat(
        late ? outcome === 'updated' : outcome === 'cancelled' || outcome === 'updated',
        `by a signal in ${phase} it ended ${outcome}`,
      );
      // The signal may arrive when the run has just begun to recreate.
      expectThat(
        outcome === 'updated' || code === exitCode,
        `cancelled with exit code ${code}, not ${exitCode}`,
      );
    },
  );
}

async function tryEdit(trial: Trial): Promise<void> {
  const { kind } = installs[trial.install];
  // A generated file belongs to the install: the next update overwrites edits of it.
  const own = kind === 'generated' || kind === 'cluster' || kind === 'cluster-only';
  const names = own ? ['.env'] : kind === 'env-file' ? ['prod.env', 'compose.yaml'] : null;
  const subject = await trial.subject();
  const files = Object.keys((await subject.instance.snapshot()).files);
  const path = trial.random.pick(
    names ??
      files.filter((name) => name === '.env' || (name.endsWith('.yaml') && name.startsWith('compose'))),
  );
  trial.note(`the edited file: ${path}`);
  const mine = `# mine, ${trial.seed}\n`;
  let edited = false;
  await tryInPhase(
    { ...trial, subject: async () => subject },
    async ({ instance }) => {
      await appendFile(join(instance.directory, path), mine);
      edited = true;
    },
    { edited: { [path]: (text) => (edited && !text.includes(mine) ? text + mine : text) } },
  );
}

async function tryTwo(trial: Trial): Promise<void> {
  const subject = await trial.subject();
  const before = await subject.look();
  const to = await subject.publish();
  const first = subject.start(to);
  const phase = trial.random.pick(['inspect', 'plan', 'recreate', 'verify']);
  await first.waitFor(new RegExp(`^\\S+ [A-Z]+ +${phase} `, 'm'));
  await sleep(trial.random.below(100));
  const second = await subject.update(to);
  const result = await first.done;
  const ends = [endingOf(result), endingOf(second)];
  trial.note(`the second was started in ${phase} of the first: ${ends.join(', ')}`);
  // The second run may start after the first has ended.
  expectThat(ends[0] === 'updated', `the first ended ${ends[0]}`);
  expectThat(ends[1] === 'refused' || ends[1] === 'unchanged', `the second ended ${ends[1]}`);
  if (ends[1] === 'refused') {
    expectThat(second.exitCode === 3, `refused with exit code ${second.exitCode}`);
    expectThat(
      second.log.includes('another update is running') ||
        second.log.includes('another update is just starting'),
      'the refusal does not say that another update is running',
    );
  }
  await expectUpdated({ subject, before, to });
  await nextRun({ subject, before, to });
}

/** A user repairs the instance after a killed update, and starts another update much later. */
async function tryByHand(trial: Trial): Promise<void> {
  const subject = await trial.subject();
  const { instance } = subject;
  const before = await subject.look();
  const to = await subject.publish();
  const moment = trial.random.pick([
    onEngineStep(1 + trial.random.below(10)),
    onLine('recreate', trial.random.below(900)),
  ]);
  const { run, why } = await killAt(moment, instance, () => subject.start(to));
  await run.done;
  if (why === null) {
    trial.note('the kill came too late');
    await nextRun({ subject, before, to });
    return;
  }
  for (const [path, { kind, text }] of Object.entries(before.files)) {
    if (kind === 'file') await instance.write(path, text);
  }
  if (installs[trial.install].floating !== null) {
    await execa('docker', [
      'tag',
      before.tags[`${instance.image}:${to.tag}`] ?? '',
      `${instance.image}:${to.tag}`,
    ]);
  }
  const note = '# put back by hand\n';
  if (trial.random.next() < 0.5) await appendFile(join(instance.directory, 'svc.yaml'), note);
  const own = (await findContainers(instance.project)).filter(({ Config }) =>
    ['app', 'worker'].includes(Config.Labels['com.docker.compose.service'] ?? ''),
  );
  await execa('docker', ['rm', '--force', ...own.map(({ Id }) => Id)]);
  await instance.compose('up', '-d');
  await instance.waitUntilHealthy();
  const mended = await subject.look();
  expectThat(mended.version === before.release.version, `mended by hand, ${mended.version} answers`);
  trial.note(`killed ${why}, and mended by hand`);
  const later = await subject.publish();
  const result = await nextRun({ subject, before: mended, to: later });
  // A run that ended in the pull or earlier leaves no state to set aside.
  const killedIn = (await run.done).lines.at(-1)?.phase ?? 'inspect';
  if (['recreate', 'verify'].includes(killedIn)) {
    const backups = join(instance.directory, '.svc-updater', 'backup');
    const found = await Promise.all((await readdir(backups)).map((name) => readdir(join(backups, name))));
    expectThat(
      found.flat().includes('journal.json'),
      'the journal of the killed run is not kept under backup',
    );
    expectThat(/journal/.test(result.log), 'the log does not say that the journal was set aside');
  }
  await expectUpKeepsVersion(subject);
}

const interrupt = (run: UpdaterRun) => run.kill('SIGINT');

export const faults: readonly Fault[] = [
  person('a second updater in mid-run', few, [6, 0], tryTwo),
  person('a file is edited in mid-run, each phase', installNames, [14, 0], tryEdit),
  person('Ctrl-C in each phase', few, [14, 0], (trial) => trySignal(trial, interrupt, 130)),
  person('docker stop in each phase', few, [14, 0], (trial) => trySignal(trial, (run) => run.stop(), 143)),
  person('.svc-updater is deleted in mid-run, each phase', few, [14, 1], (trial) =>
    tryInPhase(trial, ({ instance }) =>
      rm(join(instance.directory, '.svc-updater'), {
        recursive: true,
        force: true,
        maxRetries: 20,
        retryDelay: 5,
      }),
    ),
  ),
  person('a person mends a killed run, and updates later', few, [8, 1], tryByHand),
  ...meddlingFaults,
];
