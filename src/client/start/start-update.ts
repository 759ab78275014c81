import type { Refused } from '../../wire/reader-answer.ts';
import { isForAdmins } from '../../wire/reader-shapes.ts';
import type { Status, ToldRun } from '../../wire/status.ts';
import { type Context, Failure, stoppedCode } from '../command.ts';
import { type Connection, improper } from '../connect.ts';
import { explain } from '../explain.ts';
import { names } from '../names.ts';
import { sentence, shown } from '../shown.ts';
import { type Stay, stayFor } from './decide.ts';

export interface Start {
  /** As it was shown. */
  status: Status;
  target: string;
  whenIdle: boolean;
  force: boolean;
}

/** For so many milliseconds a request whose answer was lost may still be at work. */
const graceMs = 15_000;
const pauseMs = 1_000;

/**
 * Asks svc to start, once: where the answer is lost, what is on tells what became of it.
 * @throws Failure where it was not started, or nobody knows
 */
export async function startUpdate(
  context: Context,
  connection: Connection,
  { status, target, whenIdle, force }: Start,
): Promise<{ kind: 'started'; run: ToldRun } | Stay> {
  const order = {
    target,
    ...(whenIdle ? { when: 'idle' as const } : {}),
    ...(force ? { force: true as const } : {}),
  };
  const answer = await connection.reader.start(order, { signal: context.signal });
  if (answer.kind === 'ok') return { kind: 'started', run: answer.value };
  if (context.signal.aborted) {
    throw new Failure(
      stoppedCode,
      `It is not known whether the update was started. That tells: ${names().name} instance status`,
    );
  }
  if (answer.kind === 'problem' && (answer.problem.status < 500 || answer.problem.status === 503))
    return refusal(context, answer, connection, status);
  if (answer.kind === 'logged-out') throw improper(answer, connection.config);
  context.stderr.write(`${explain(answer, connection.config)} Looking whether the update was started…\n`);
  const run = await findStarted(context, connection, status.run?.id ?? null);
  if (run !== null) return { kind: 'started', run };
  const { name } = names();
  throw new Failure(
    1,
    `${name} has not started the update; nothing was changed. Try again: ${name} instance update`,
  );
}

async function refusal(
  { signal }: Context,
  refused: Refused & { kind: 'problem' },
  { reader, config }: Connection,
  status: Status,
): Promise<Stay> {
  const { problem } = refused;
  const { reason } = problem;
  // What another request may get later; all else is a mistake in this one.
  if (![409, 429, 503].includes(problem.status)) throw improper(refused, config, problem);
  if (reason === undefined) {
    const lines = [`It cannot be updated now: ${sentence(shown(problem.detail))}`];
    return { kind: 'stay', lines, problem, exitCode: 3 };
  }
  if (reason.code === 'up-to-date') {
    return { kind: 'stay', lines: [sentence(shown(reason.message))], problem, exitCode: 3 };
  }
  if (reason.code !== 'update-running') return stayFor(reason, status, problem);
  // Somebody was faster: whose it is, and that it can be followed, only a new status tells.
  const answer = await reader.status({ signal });
  const current = answer.kind === 'ok' && isForAdmins(answer.value) ? answer.value : status;
  return stayFor(reason, current, problem);
}

/** The run that there was not before; null where svc says long enough that there is none. */
async function findStarted(
  { signal, now }: Context,
  { reader, config }: Connection,
  before: string | null,
): Promise<ToldRun | null> {
  const until = now() + graceMs;
  for (;;) {
    const answer = await reader.progress({ signal });
    if (answer.kind === 'ok' && answer.value.id !== before) return answer.value;
    const isKnown = answer.kind === 'ok' || (answer.kind === 'problem' && answer.problem.status === 404);
    if (now() >= until || signal.aborted) {
      if (isKnown && !signal.aborted) return null;
      const why = isKnown || signal.aborted ? '' : `${explain(answer as Refused, config)} `;
      throw new Failure(
        signal.aborted ? stoppedCode : 1,
        `${why}It is not known whether the update was started. That tells: ${names().name} instance status`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
