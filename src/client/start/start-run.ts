import type { Answer, Refused } from '../../wire/reader-answer.ts';
import type { Problem } from '../../wire/reader-shapes.ts';
import type { ToldRun } from '../../wire/status.ts';
import { Failure, stoppedCode } from '../command.ts';
import { failureOf, type Session } from '../connect.ts';
import { explainAnswer } from '../explain.ts';
import { names } from '../names.ts';
import type { Stay } from './decide.ts';

/** How long a request whose answer was lost may still be processed, in milliseconds. */
const graceMs = 15_000;
const pauseMs = 1_000;

/** A run to start. */
export interface WantedRun {
  /** `the update` */
  what: string;
  /** The command that starts it. */
  command: string;
  /** The id of the last run before the request. */
  before: string | null;
  ask(): Promise<Answer<ToldRun>>;
  /** The lines after a refusal. */
  refusal(problem: Problem): Stay | Promise<Stay>;
}

/**
 * Sends the request once. If the answer is lost, the run in progress shows whether the request was accepted.
 * @throws Failure if the run was not started, or if this is unknown
 */
export async function startRun(session: Session, wanted: WantedRun): Promise<ToldRun | Stay> {
  const { config, signal, stderr } = session;
  const { what } = wanted;
  const answer = await wanted.ask();
  if (answer.kind === 'ok') return answer.value;
  if (signal.aborted) throw unknown(stoppedCode, what);
  if (answer.kind === 'problem' && (answer.problem.status < 500 || answer.problem.status === 503)) {
    // These refusals may end later. Any other status means that the request itself is wrong.
    if (![409, 429, 503].includes(answer.problem.status)) throw failureOf(answer, session, answer.problem);
    return wanted.refusal(answer.problem);
  }
  if (answer.kind === 'logged-out') throw failureOf(answer, session);
  stderr.write(`${explainAnswer(answer, config)} Checking whether ${what} was started…\n`);
  return findStarted(session, wanted);
}

const unknown = (exitCode: number, what: string, why = ''): Failure =>
  new Failure(
    exitCode,
    `${why}It is unknown whether ${what} was started. To check: ${names().name} instance status`,
  );

/** Waits for a run other than the one before the request. */
async function findStarted(session: Session, wanted: WantedRun): Promise<ToldRun> {
  const { reader, config, signal, now } = session;
  const until = now() + graceMs;
  for (;;) {
    const answer = await reader.progress({ signal });
    if (answer.kind === 'ok' && answer.value.id !== wanted.before) return answer.value;
    if (signal.aborted) throw unknown(stoppedCode, wanted.what);
    if (now() >= until) throw notStarted(answer.kind === 'ok' ? null : answer, wanted, config);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

function notStarted(
  refused: Refused | null,
  { what, command }: WantedRun,
  config: Session['config'],
): Failure {
  if (refused !== null && !(refused.kind === 'problem' && refused.problem.status === 404))
    return unknown(1, what, `${explainAnswer(refused, config)} `);
  const { name } = names();
  return new Failure(1, `${name} did not start ${what}; nothing was changed. Try again: ${name} ${command}`);
}
