import { afterOnPath, nextOnPath } from '../../wire/path.ts';
import type { Run, Status, ToldRun } from '../../wire/status.ts';
import { type Command, type Context, Failure } from '../command.ts';
import { connect, failureOf, interrupted, type Session } from '../connect.ts';
import { type Ending, endingOf } from '../endings.ts';
import { explain } from '../explain.ts';
import { followUpdate, usualTimeout } from '../follow/follow-update.ts';
import { names } from '../names.ts';
import { clean, cleanText, linesOf, sentence } from '../text.ts';

export const instanceCancel: Command = {
  name: 'instance cancel',
  summary: 'Stops the update that is on, or the next one of several, as long as it has replaced nothing.',
  usage: '',
  options: [],
  examples: [
    ['svc instance cancel', 'exits with 0 if it was stopped, with 3 if it was too late'],
    ['svc instance cancel && svc instance status', 'stop it, then see what runs'],
  ],
  run,
};

const tries = 5;
const pause = 1000;

async function run(context: Context): Promise<number> {
  const session = connect(context);
  const { name } = names();
  const current = await whatIsOn(session);
  const run = current === null ? 'No update is on.' : await stop(session);
  const next = current && afterOnPath(clean(current));
  const goesOn = next === null ? [] : [`${next} comes next. Stop it: ${name} instance cancel`];
  if (typeof run === 'string') {
    session.stdout.write(linesOf([run, ...goesOn]));
    return 3;
  }
  if (current?.outcome != null) {
    session.stdout.write(`✓ No further update follows: ${name} ${clean(run).to} stays.\n`);
    return 0;
  }
  return followUpdate(session, {
    run,
    timeout: usualTimeout,
    json: false,
    endingOf: (run, status) => endingOfStopped(run, status, goesOn),
  });
}

/** The run that is on, or the last one where the next of its path is to begin; null where there is nothing to stop. */
async function whatIsOn(session: Session): Promise<ToldRun | null> {
  const answer = await session.reader.progress({ signal: session.signal });
  if (answer.kind === 'ok') {
    const { value: run } = answer;
    return run.outcome === null || nextOnPath(run) !== null ? run : null;
  }
  if (answer.kind === 'problem' && answer.problem.status === 404) return null;
  throw failureOf(answer, session);
}

/** The run that was asked to stop, or why it was not. To ask twice does no harm, so a lost answer is asked for again. */
async function stop(session: Session): Promise<ToldRun | string> {
  const { reader, config, signal } = session;
  for (let attempt = 1; ; attempt++) {
    const answer = await reader.cancel({ signal });
    if (answer.kind === 'ok') return answer.value;
    if (signal.aborted) throw interrupted();
    if (answer.kind === 'logged-out') throw failureOf(answer, session);
    if (answer.kind === 'problem') {
      const { status, detail } = answer.problem;
      if (status === 409) return sentence(cleanText(detail));
      if (status < 500) throw failureOf(answer, session);
    }
    if (attempt === tries)
      throw new Failure(
        1,
        `${explain(answer, config)} It is not known whether the update was asked to stop.`,
      );
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function endingOfStopped(run: Run, status: Status | null, goesOn: readonly string[]): Ending {
  const { lines, exitCode } = endingOf(run, status);
  if (run.outcome !== 'cancelled') {
    const later = nextOnPath(run) === null ? [] : goesOn;
    return { lines: ['It was too late to stop it.', ...lines, ...later], exitCode: exitCode || 3 };
  }
  const line = sentence(run.message);
  return { lines: [`✓ ${run.message.startsWith('cancelled ') ? line : `Cancelled: ${line}`}`], exitCode: 0 };
}
