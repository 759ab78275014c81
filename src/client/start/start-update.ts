import type { Refused } from '../../wire/reader-answer.ts';
import { isForAdmins, type Problem } from '../../wire/reader-shapes.ts';
import type { Status, ToldRun } from '../../wire/status.ts';
import { Failure, stoppedCode } from '../command.ts';
import { failureOf, type Session } from '../connect.ts';
import { explain } from '../explain.ts';
import { names } from '../names.ts';
import { cleanText, sentence } from '../text.ts';
import { type Stay, stayFor, type Wish } from './decide.ts';

/** For so many milliseconds a request whose answer was lost may still be at work. */
const graceMs = 15_000;
const pauseMs = 1_000;

/**
 * Asks svc to start, once: where the answer is lost, what is on tells what became of it. `status` is as it was shown.
 * @throws Failure where it was not started, or nobody knows
 */
export async function startUpdate(
  session: Session,
  status: Status,
  { target, whenIdle, force }: Wish & { target: string },
): Promise<ToldRun | Stay> {
  const { reader, config, signal, stderr } = session;
  const order = {
    target,
    ...(whenIdle ? { when: 'idle' as const } : {}),
    ...(force ? { force: true as const } : {}),
  };
  const answer = await reader.start(order, { signal });
  if (answer.kind === 'ok') return answer.value;
  if (signal.aborted) throw unknown(stoppedCode);
  if (answer.kind === 'problem' && (answer.problem.status < 500 || answer.problem.status === 503)) {
    // What another request may get later; all else is a mistake in this one.
    if (![409, 429, 503].includes(answer.problem.status)) throw failureOf(answer, session, answer.problem);
    return refusal(session, answer.problem, status);
  }
  if (answer.kind === 'logged-out') throw failureOf(answer, session);
  stderr.write(`${explain(answer, config)} Looking whether the update was started…\n`);
  return findStarted(session, status.run?.id ?? null);
}

const unknown = (exitCode: number, why = ''): Failure =>
  new Failure(
    exitCode,
    `${why}It is not known whether the update was started. That tells: ${names().name} instance status`,
  );

async function refusal({ reader, signal }: Session, problem: Problem, status: Status): Promise<Stay> {
  const { reason, detail } = problem;
  const stay = (line: string): Stay => ({ lines: [line], problem, exitCode: 3 });
  if (reason === undefined) return stay(`It cannot be updated now: ${sentence(cleanText(detail))}`);
  if (reason.code === 'up-to-date') return stay(sentence(cleanText(reason.message)));
  if (reason.code !== 'update-running') return stayFor(reason, status, problem);
  // Somebody was faster: whose it is, and that it can be followed, only a new status tells.
  const answer = await reader.status({ signal });
  const current = answer.kind === 'ok' && isForAdmins(answer.value) ? answer.value : status;
  return stayFor(reason, current, problem);
}

/** The run that there was not before. */
async function findStarted(session: Session, before: string | null): Promise<ToldRun> {
  const { reader, config, signal, now } = session;
  const until = now() + graceMs;
  for (;;) {
    const answer = await reader.progress({ signal });
    if (answer.kind === 'ok' && answer.value.id !== before) return answer.value;
    if (signal.aborted) throw unknown(stoppedCode);
    if (now() >= until) throw notStarted(answer.kind === 'ok' ? null : answer, config);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

function notStarted(refused: Refused | null, config: Session['config']): Failure {
  if (refused !== null && !(refused.kind === 'problem' && refused.problem.status === 404))
    return unknown(1, `${explain(refused, config)} `);
  const { name } = names();
  return new Failure(
    1,
    `${name} has not started the update; nothing was changed. Try again: ${name} instance update`,
  );
}
