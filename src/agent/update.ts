import { join } from 'node:path';
import { Interrupted } from '../progress/stops.ts';
import { begin, type RunHandles } from './fresh-run.ts';
import { findInstance } from './inspect/find-instance.ts';
import { type Ending, repeatEnding, reportEnding } from './log/ending.ts';
import type { Log } from './log/log.ts';
import { removeScratches } from './plan/release-files.ts';
import type { RunContext } from './process/run-context.ts';
import { recreateAndVerify } from './replace/replace-containers.ts';
import { settleEarlierRun } from './resume/settle-earlier.ts';
import { Journal, type JournalData, type JournalPlace, readJournal, setAside } from './state/journal.ts';
import { dropLock, takeLock } from './state/lock.ts';
import { openStateDirectory } from './state/state-directory.ts';

/** The story of a run. Gives the exit code; its last line, the journal and the restart policy say the same. */
export async function update(context: RunContext): Promise<number> {
  const { log, known, cancellation } = context;
  const held: RunHandles = { own: null, lock: null, journal: null };
  try {
    const ending = await run(context, held).catch((error) => {
      if (error instanceof Interrupted) throw error;
      return reportEnding(error, log, known, cancellation.signalNumber);
    });
    await close(context, held, ending);
    return ending.exitCode;
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    log.warn(
      'the engine is shutting down: the journal stands, and the update goes on when the updater is started again',
    );
    return 128 + cancellation.signalNumber;
  } finally {
    await held.lock?.release();
  }
}

/** The outcome is in the journal before the engine is told not to start this container again (SPEC 3.4). */
async function close(
  { engine }: RunContext,
  { own, lock, journal }: RunHandles,
  ending: Ending,
): Promise<void> {
  // An engine that is away will start a container again that has failed: it goes on then.
  if (own === null || (ending.exitCode !== 0 && !(await engine.answers()))) return;
  // Where that fails, the next run does what is left to do. The log has its last line already.
  await journal?.end(ending).catch(() => {});
  // Before the policy: killed in between, this container is started again and leaves nothing behind.
  await lock?.release().catch(() => {});
  engine.onAway = () => {};
  engine.signal = undefined;
  if (own.restartPolicy !== 'no') await engine.call(['update', '--restart=no', own.id]).catch(() => {});
}

async function run(context: RunContext, held: RunHandles): Promise<Ending> {
  const { engine, options, log } = context;
  const met = await findInstance(engine, options, log);
  held.own = met.own;
  const directory = met.located.mountedAt;
  const state = await openStateDirectory(directory);
  const said = await readJournal(state);
  if (said && 'outcome' in said && said.outcome && said.containerId === met.own.id) {
    await dropLock(directory, met.own);
    repeatEnding(said.outcome, log);
    return { ...said.outcome, exitCode: 0 };
  }
  const lock = await takeLock(state, met.own, engine, log);
  held.lock = lock;
  const place: JournalPlace = {
    state,
    restore: async () => {
      await openStateDirectory(directory);
      await lock.renew();
    },
  };
  if (lock.takenOver) await removeScratches(engine, met.located.name);
  const earlier = await readEarlier(state, log);
  log.copyTo(join(state, 'last-run.log'), { add: earlier !== null && earlier.outcome === null });
  if (earlier !== null) {
    await met.fits;
    const journal = new Journal(place, earlier);
    const inheritance = await settleEarlierRun(context, met, journal);
    // Until here an end of this run says nothing of that one.
    if (inheritance.kind !== 'fresh') held.journal = journal;
    if (inheritance.kind === 'go-on') {
      log.phase = earlier.phase === 'verify' ? 'verify' : 'recreate';
      return recreateAndVerify(context, journal, inheritance.changeover);
    }
    if (inheritance.kind === 'over') {
      repeatEnding(inheritance.ending, log);
      return inheritance.ending;
    }
  }
  return begin(context, met, held, place, earlier);
}

/** The journal of an earlier run; one that this version cannot read is put aside. */
async function readEarlier(state: string, log: Log): Promise<JournalData | null> {
  const earlier = await readJournal(state);
  if (earlier === null || !('unreadable' in earlier)) return earlier;
  log.warn(`the journal of an earlier run cannot be read: it is kept as ${await setAside(state, earlier)}`);
  return null;
}
