import type { OptionTable } from '../../core/command-line/option-row.ts';
import type { Problem } from '../../wire/api-client/parse-responses.ts';
import type { FailedResult, RequestResult } from '../../wire/api-client/request-result.ts';
import type { UpdateRequestBody } from '../../wire/api-client/update-api-client.ts';
import type { RunKind } from '../../wire/codes.ts';
import type { ToldRun } from '../../wire/status.ts';
import {
  type CommandContext,
  CommandFailedError,
  interruptedExitCode,
} from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { createRequestFailedError, createSession, type Session } from '../connection/create-session.ts';
import { explainFailedResult } from '../connection/explain-failed-result.ts';
import { followTimeoutOption, followTimeoutSecondsOf } from '../follow/follow-run-to-result.ts';
import { followUpgradePath } from '../follow/follow-upgrade-path.ts';
import { escapeResponseTexts, formatJsonLine, joinLines } from '../output/text.ts';
import type { NotStartedResult } from './choose-update-target.ts';

/** Time in ms that the server may need to process a request after the connection was lost. */
const graceMs = 15_000;
const pauseMs = 1_000;

/** Options that `update` and `rollback` have in common. @param yes - help text of `--yes` */
export const createStartOptions = (kind: RunKind, yes: string): OptionTable => ({
  'when-idle': { help: 'Wait until running jobs have finished; new jobs stay queued' },
  force: { instead: 'when-idle', help: 'Stop running jobs' },
  yes: { help: yes },
  'no-follow': { help: `Start the ${kind} without following it` },
  timeout: followTimeoutOption,
  json: {
    help: 'Print one JSON event per line; if the request is refused, print the error as a JSON problem document',
  },
});

/** Session and parsed options of a command that starts a run. */
export interface StartSession extends Session {
  kind: RunKind;
  /** Fields that the start requests of an update and a rollback have in common. */
  order: Pick<UpdateRequestBody, 'when' | 'force'>;
  json: boolean;
  timeout: number;
  /** Prints lines for people: to stderr with `--json`, otherwise to stdout. */
  tell(...lines: readonly string[]): void;
}

/** @throws CommandFailedError if the server address is missing or invalid */
export function createStartSession(context: CommandContext, kind: RunKind): StartSession {
  const timeout = followTimeoutSecondsOf(context.args);
  const { options } = context.args;
  const order = {
    ...(options['when-idle'] && { when: 'idle' as const }),
    ...(options.force && { force: true as const }),
  };
  const json = !!options.json;
  const session = createSession(context);
  const out = json ? session.stderr : session.stdout;
  const tell = (...lines: readonly string[]) => void out.write(joinLines(lines));
  return { ...session, kind, order, json, timeout, tell };
}

/** Prints why no run was started, and returns the exit code. */
export function printNotStartedResult(
  { json, stdout, tell }: StartSession,
  { lines, problem, exitCode }: NotStartedResult,
): number {
  if (json && problem !== null) stdout.write(formatJsonLine(problem));
  tell(...lines);
  return exitCode;
}

interface WantedRun {
  /** Id of the last run before the start request; null if there was no earlier run. */
  previousRunId: string | null;
  sendStartRequest(): Promise<RequestResult<ToldRun>>;
  /** Creates the result to print if the server refuses the request. */
  createRefusalResult(problem: Problem): NotStartedResult | Promise<NotStartedResult>;
}

/** Starts a run and follows it, unless `--no-follow` is specified. Resolves with the exit code. */
export async function startAndFollowRun(session: StartSession, wanted: WantedRun): Promise<number> {
  const { kind, json, timeout, args, stdout, tell } = session;
  const run = await startRun(session, wanted);
  if ('lines' in run) return printNotStartedResult(session, run);
  if (!args.options['no-follow']) return followUpgradePath(session, { run, timeout, json });
  if (json) stdout.write(formatJsonLine({ event: 'run', data: run }));
  const to = escapeResponseTexts(run).to ?? 'the latest release';
  tell(`The ${kind} to ${to} has started. To follow its progress: ${getProductNames().name} instance follow`);
  return 0;
}

/**
 * Sends the start request only once. If the response is lost, waits for a new run instead of repeating the request.
 * @throws CommandFailedError if no run was started, or if it is unknown whether one was
 */
async function startRun(session: StartSession, wanted: WantedRun): Promise<ToldRun | NotStartedResult> {
  const { kind, config, signal, stderr } = session;
  const answer = await wanted.sendStartRequest();
  if (answer.kind === 'ok') return answer.value;
  if (signal.aborted) throw createUnknownStartError(interruptedExitCode, kind);
  if (answer.kind === 'problem' && (answer.problem.status < 500 || answer.problem.status === 503)) {
    // After a response with one of these statuses, a later request may succeed. Any other status means that the request
    // itself is invalid.
    if (![409, 429, 503].includes(answer.problem.status))
      throw createRequestFailedError(answer, session, answer.problem);
    return wanted.createRefusalResult(answer.problem);
  }
  if (answer.kind === 'logged-out') throw createRequestFailedError(answer, session);
  stderr.write(`${explainFailedResult(answer, config)} Checking whether the ${kind} was started…\n`);
  return waitForStartedRun(session, wanted);
}

const createUnknownStartError = (exitCode: number, kind: RunKind, why = ''): CommandFailedError =>
  new CommandFailedError(
    exitCode,
    `${why}It is unknown whether the ${kind} was started. To check: ${getProductNames().name} instance status`,
  );

/** Waits until the server reports a run that did not exist before the start request. */
async function waitForStartedRun(
  session: StartSession,
  { previousRunId: before }: WantedRun,
): Promise<ToldRun> {
  const { kind, reader, signal, now } = session;
  const until = now() + graceMs;
  for (;;) {
    const response = await reader.fetchRun({ signal });
    if (response.kind === 'ok' && response.value.id !== before) return response.value;
    if (signal.aborted) throw createUnknownStartError(interruptedExitCode, kind);
    if (now() >= until) throw createNotStartedError(response.kind === 'ok' ? null : response, session);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

function createNotStartedError(
  refused: FailedResult | null,
  { kind, config }: StartSession,
): CommandFailedError {
  if (refused !== null && !(refused.kind === 'problem' && refused.problem.status === 404))
    return createUnknownStartError(1, kind, `${explainFailedResult(refused, config)} `);
  const { name } = getProductNames();
  return new CommandFailedError(
    1,
    `${name} did not start the ${kind}; nothing was changed. Try again: ${name} instance ${kind}`,
  );
}
