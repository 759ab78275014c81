import { endingOf } from '../judge/log.ts';
import { startBadEngine } from '../rig/bad-engine.ts';
import { askEngine, type ContainerInspection } from '../rig/engine-api.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import type { UpdateResult, UpdaterRun } from '../rig/updater-run.ts';
import {
  type Attempt,
  expectBroken,
  expectBroughtBack,
  expectDead,
  expectEnding,
  expectPins,
  expectUpdated,
  expectUpKeepsVersion,
  nextRun,
} from './expect.ts';
import { expectThat, type Fault, Lost, type Trial } from './fault.ts';
import { installNames, type Release } from './install.ts';
import {
  afterMs,
  beforeEngineChange,
  engineChanges,
  engineSteps,
  killAt,
  type Moment,
  onDiskChange,
  onEngineStep,
  onLine,
} from './kill.ts';
import type { Subject } from './subject.ts';

// `kill -9` of the updater, and the following actions.

/** The approximate duration of a good run. A kill after its end has no effect. */
const goodRunMs = 3_500;
const borders = ['inspect', 'plan', 'pull', 'write', 'recreate', 'verify', 'done'] as const;
/** Number of changes on the disk in a good run, and a few more. */
const diskChanges = 24;

const anywhere = ({ random }: Trial): Moment => afterMs(random.below(goodRunMs));

type Next = 'again' | 'killed again' | 'started again' | 'another target';

/** The action after a kill: usually a new run with the same target. */
const usualNext = ({ random }: Trial): Next =>
  random.pick([
    'again',
    'again',
    'again',
    'again',
    'again',
    'killed again',
    'started again',
    'another target',
  ]);

interface Story {
  moment(trial: Trial): Moment;
  next?(trial: Trial): Next;
}

const kill = (name: string, tries: number, shortTries: number, story: Story): Fault => ({
  group: 'kill',
  name,
  installs: installNames,
  tries,
  shortTries,
  run: (trial) => tryKill(trial, story),
});

async function tryKill(trial: Trial, { moment, next = usualNext }: Story): Promise<void> {
  const subject = await trial.subject();
  const before = await subject.look();
  const attempt = { subject, before, to: await subject.publish() };
  const way = next(trial);
  const run = await killOnce(trial, attempt, moment(trial), way === 'started again');
  const reached = await goOn(trial, attempt, run, way);
  trial.note(`whole at ${reached.version}`);
  if (trial.seed % 6 === 0) await expectUpKeepsVersion(subject);
  else await expectPins(subject);
}

async function killOnce(trial: Trial, attempt: Attempt, moment: Moment, keep = false): Promise<UpdaterRun> {
  const { subject, to } = attempt;
  const { run, why } = await killAt(moment, subject.instance, () => subject.start(to, { keep }));
  const { exitCode, lines } = await run.done;
  if (exitCode === 137) {
    trial.note(`killed ${why}; its last line: ${lines.at(-1)?.phase} ${lines.at(-1)?.message}`);
    await expectDead(attempt);
  } else {
    trial.note(`the moment (${moment.name}) came too late: exit code ${exitCode}`);
    if (!keep) await expectEnding(attempt, await run.done);
  }
  return run;
}

/** Returns the release that the instance has reached. */
async function goOn(trial: Trial, attempt: Attempt, run: UpdaterRun, way: Next): Promise<Release> {
  const { subject, to } = attempt;
  trial.note(`then: ${way}`);
  if (way === 'killed again') await killOnce(trial, attempt, anywhere(trial));
  if (way === 'started again') {
    const told = await outcomeOf(subject, run);
    const result = await subject.startAgain(run);
    expectThat(result.exitCode === 0, `started again, the updater ended with exit code ${result.exitCode}`);
    const outcome = endingOf(result);
    expectThat(outcome === 'updated' || outcome === 'unchanged', `started again, it ended ${outcome}`);
    expectRepeated(told, result);
    await subject.forget(run);
    await expectUpdated(attempt);
  }
  if (way === 'another target') {
    const other = await subject.publish();
    if (other.args.join() === to.args.join()) {
      // A floating tag is requested with the same arguments: this run may install the already pulled release, and the
      // next run the newer one.
      const { exitCode } = await subject.update(other);
      expectThat(exitCode === 0, `the next run ended with exit code ${exitCode}`);
    }
    await nextRun({ ...attempt, to: other });
    return other;
  }
  await nextRun(attempt);
  return to;
}

/** Killed during an update to a bad release: the next run has the same outcome, and a good release can be installed. */
async function tryKillBad(trial: Trial, release: ReleaseOptions, ends: 'failed' | 'broken'): Promise<void> {
  const subject = await trial.subject();
  const before = await subject.look();
  const bad = await subject.publish(release);
  const { random } = trial;
  const moment = random.pick([onLine('recreate', random.below(3_500)), onEngineStep(1 + random.below(22))]);
  const impatient = ['--wait-timeout', '8'];
  const { run, why } = await killAt(moment, subject.instance, () => subject.start(bad, {}, ...impatient));
  const first = await run.done;
  trial.note(
    `killed ${why ?? 'too late'}; its last line: ${first.lines.at(-1)?.phase} ${first.lines.at(-1)?.message}`,
  );
  if (first.exitCode === 137) await expectDead({ subject, before, to: bad });
  const result = await subject.update(bad, {}, ...impatient);
  const outcome = endingOf(result);
  expectThat(outcome === ends, `the next run ended ${outcome}, not ${ends}`);
  if (ends === 'failed') {
    await expectBroughtBack({ subject, before, to: bad });
    await expectUpKeepsVersion(subject);
  } else {
    await expectBroken({ subject, before, to: bad }, result);
  }
  trial.note(`${ends} at last; now a newer release is good`);
  const from = ends === 'failed' ? await subject.look() : before;
  await nextRun({ subject, before: from, to: await subject.publish() });
  await expectPins(subject);
}

/** Killed before the next step begins: the engine receives no request for it. */
async function tryKillBetween(trial: Trial): Promise<void> {
  const subject = await trial.subject();
  const before = await subject.look();
  const to = await subject.publish();
  const engine = await startBadEngine(`${subject.instance.directory}.sock`);
  trial.finally(() => engine.close());
  const moment = beforeEngineChange(engine, 1 + nth(trial, engineChanges));
  const start = () => subject.start(to, { socket: engine.socket });
  const { run, why } = await killAt(moment, subject.instance, start);
  const { lines } = await run.done;
  trial.note(`killed ${why ?? 'too late'}; its last line: ${lines.at(-1)?.phase} ${lines.at(-1)?.message}`);
  await expectDead({ subject, before, to });
  await nextRun({ subject, before, to });
  if (trial.seed % 6 === 0) await expectUpKeepsVersion(subject);
  else await expectPins(subject);
}

/** The outcome of that run in the journal; null if the journal has none, or is of another run. */
async function outcomeOf({ instance }: Subject, run: UpdaterRun): Promise<string | null> {
  const text = await instance.read('.svc-updater/journal.json').catch(() => '{}');
  const { containerId, state } = JSON.parse(text) as {
    containerId?: string;
    state?: { ending?: { message: string } };
  };
  const { body } = await askEngine('GET', `/containers/${run.name}/json`);
  return containerId === (JSON.parse(body) as ContainerInspection).Id
    ? (state?.ending?.message ?? null)
    : null;
}

/** A restarted run whose outcome is in the journal reports the same outcome. */
function expectRepeated(told: string | null, { lines }: UpdateResult): void {
  const last = lines.at(-1)?.message ?? '';
  if (told === null || last.includes(told)) return;
  throw new Lost([`started again after its end, its last line is "${last}", and was "${told}"`]);
}

/** There are 11 kinds of install: a count without that factor combines every value with every install. */
const nth = ({ seed }: Trial, count: number) => seed % count;

export const faults: readonly Fault[] = [
  kill('at a phase border', 77, 7, {
    moment: (trial) => onLine(borders[nth(trial, borders.length)] ?? 'recreate'),
  }),
  kill('at a change on the disk', 48, 5, { moment: (trial) => onDiskChange(1 + nth(trial, diskChanges)) }),
  { ...kill('between two steps of the engine', 51, 5, { moment: anywhere }), run: tryKillBetween },
  kill('at a step of the engine', 16, 2, { moment: (trial) => onEngineStep(1 + nth(trial, engineSteps)) }),
  kill('at a random moment', 11, 1, { moment: anywhere }),
  kill('just after recreate has begun', 11, 1, {
    moment: ({ random }) => onLine('recreate', 1 + random.below(1_200)),
  }),
  kill('twice', 11, 1, {
    moment: (trial) => onLine('recreate', 1 + trial.random.below(1_000)),
    next: () => 'killed again',
  }),
  kill('and its container is started again', 11, 1, {
    moment: (trial) =>
      trial.random.pick([
        onLine('done'),
        onLine('recreate', 200),
        onLine('verify'),
        onLine('pull'),
        afterMs(60_000),
      ]),
    next: () => 'started again',
  }),
  kill('and the next run has another target', 11, 1, {
    moment: (trial) =>
      trial.random.pick([onLine('recreate', 300), onLine('write'), onLine('verify'), anywhere(trial)]),
    next: () => 'another target',
  }),
  {
    ...kill('in a run that goes back', 12, 1, { moment: anywhere }),
    run: (trial) => tryKillBad(trial, { entrypoint: ['/bin/there-is-no-such-file'] }, 'failed'),
  },
  {
    ...kill('in a run that ends broken', 5, 0, { moment: anywhere }),
    run: (trial) => tryKillBad(trial, { env: { FAULT_APP: 'crash', FAULT_WORKER: 'crash' } }, 'broken'),
  },
];
