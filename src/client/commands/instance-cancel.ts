import { afterOnPath, nextOnPath } from '../../wire/path.ts';
import type { Run, Status, ToldRun } from '../../wire/status.ts';
import { type ClientCommand, type Context, Failure } from '../command.ts';
import { connect, failureOf, interrupted, type Session } from '../connect.ts';
import { type EndReport, endReportOf } from '../endings.ts';
import { explainAnswer } from '../explain.ts';
import { followOne, usualTimeout } from '../follow/follow-update.ts';
import { names } from '../names.ts';
import { asSentence, clean, cleanText, linesOf } from '../text.ts';

export const instanceCancel: ClientCommand = {
  name: 'instance cancel',
  summary: 'Cancel the update in progress, or the next step of an upgrade path',
  options: {},
  examples: [
    [
      '{product} instance cancel',
      'exit with 0 if the update was cancelled, or with 3 if it was too late to cancel',
    ],
    [
      '{product} instance cancel && {product} instance status',
      'cancel the update, then show the running version',
    ],
  ],
  run,
};

const tries = 5;
const pause = 1000;

async function run(context: Context): Promise<number> {
  const session = connect(context);
  const { name } = names();
  const current = await findCurrent(session);
  const run = current === null ? 'No update is in progress.' : await cancel(session);
  const next = current && afterOnPath(clean(current));
  const nextLines =
    next === null ? [] : [`${next} will be installed next. To cancel: ${name} instance cancel`];
  if (typeof run === 'string') {
    session.stdout.write(linesOf([run, ...nextLines]));
    return 3;
  }
  if (current?.outcome != null) {
    session.stdout.write(`✓ Upgrade path cancelled. ${name} ${clean(run).to} is still running.\n`);
    return 0;
  }
  const { exitCode } = await followOne(session, {
    run,
    timeout: usualTimeout,
    json: false,
    endingOf: (run, status) => endingOfCancelled(run, status, nextLines),
  });
  return exitCode;
}

/**
 * Finds the run in progress, or the last run if the next step of its path is pending; null if nothing can be cancelled.
 */
async function findCurrent(session: Session): Promise<ToldRun | null> {
  const answer = await session.reader.progress({ signal: session.signal });
  if (answer.kind === 'ok') {
    const { value: run } = answer;
    return run.outcome === null || nextOnPath(run) !== null ? run : null;
  }
  if (answer.kind === 'problem' && answer.problem.status === 404) return null;
  throw failureOf(answer, session);
}

/**
 * Requests the cancellation. Resolves with the run, or with the message of a refusal. Repeating the request after a
 * lost response is safe.
 */
async function cancel(session: Session): Promise<ToldRun | string> {
  const { reader, config, signal } = session;
  for (let attempt = 1; ; attempt++) {
    const answer = await reader.cancel({ signal });
    if (answer.kind === 'ok') return answer.value;
    if (signal.aborted) throw interrupted();
    if (answer.kind === 'logged-out') throw failureOf(answer, session);
    if (answer.kind === 'problem') {
      const { status, detail } = answer.problem;
      if (status === 409) return asSentence(cleanText(detail));
      if (status < 500) throw failureOf(answer, session);
    }
    if (attempt === tries)
      throw new Failure(
        1,
        `${explainAnswer(answer, config)} It is unknown whether the server received the cancellation request.`,
      );
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function endingOfCancelled(run: Run, status: Status | null, nextLines: readonly string[]): EndReport {
  const { lines, exitCode } = endReportOf(run, status);
  if (run.outcome !== 'cancelled') {
    const later = nextOnPath(run) === null ? [] : nextLines;
    return { lines: ['It was too late to cancel.', ...lines, ...later], exitCode: exitCode || 3 };
  }
  return { lines: [`✓ Cancelled. ${asSentence(run.message)}`], exitCode: 0 };
}
