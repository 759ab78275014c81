import type { Answer, Refused } from '../../wire/reader-answer.ts';
import type { Problem } from '../../wire/reader-shapes.ts';
import type { ToldRun } from '../../wire/status.ts';
import { Failure, stoppedCode } from '../command.ts';
import { failureOf, type Session } from '../connect.ts';
import { explain } from '../explain.ts';
import { names } from '../names.ts';
import type { Stay } from './decide.ts';

/** For so many milliseconds a request whose answer was lost may still be at work. */
const graceMs = 15_000;
const pauseMs = 1_000;

/** A run that svc is to begin. */
export interface Wanted {
  /** `the update` */
  what: string;
  /** The command that asks for it. */
  command: string;
  /** The last run that there was when it was decided on. */
  before: string | null;
  ask(): Promise<Answer<ToldRun>>;
  /** What is said where svc says no. */
  refusal(problem: Problem): Stay | Promise<Stay>;
}

/**
 * Asks svc to start, once: where the answer is lost, what is on tells what became of it.
 * @throws Failure where it was not started, or nobody knows
 */
export async function startRun(session: Session, wanted: Wanted): Promise<ToldRun | Stay> {
  const { config, signal, stderr } = session;
  const { what } = wanted;
  const answer = await wanted.ask();
  if (answer.kind === 'ok') return answer.value;
  if (signal.aborted) throw unknown(stoppedCode, what);
  if (answer.kind === 'problem' && (answer.problem.status < 500 || answer.problem.status === 503)) {
    // What another request may get later; all else is a mistake in this one.
    if (![409, 429, 503].includes(answer.problem.status)) throw failureOf(answer, session, answer.problem);
    return wanted.refusal(answer.problem);
  }
  if (answer.kind === 'logged-out') throw failureOf(answer, session);
  stderr.write(`${explain(answer, config)} Looking whether ${what} was started…\n`);
  return findStarted(session, wanted);
}

const unknown = (exitCode: number, what: string, why = ''): Failure =>
  new Failure(
    exitCode,
    `${why}It is not known whether ${what} was started. That tells: ${names().name} instance status`,
  );

/** The run that there was not before. */
async function findStarted(session: Session, wanted: Wanted): Promise<ToldRun> {
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

function notStarted(refused: Refused | null, { what, command }: Wanted, config: Session['config']): Failure {
  if (refused !== null && !(refused.kind === 'problem' && refused.problem.status === 404))
    return unknown(1, what, `${explain(refused, config)} `);
  const { name } = names();
  return new Failure(
    1,
    `${name} has not started ${what}; nothing was changed. Try again: ${name} ${command}`,
  );
}
