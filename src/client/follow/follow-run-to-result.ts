import type { OptionRow } from '../../core/command-line/option-row.ts';
import { isAdminStatus } from '../../wire/api-client/parse-responses.ts';
import { followRun, type RunFollowEvent } from '../../wire/api-client/run-follow-events.ts';
import { canProductBeUnavailable, isTooLateToCancel } from '../../wire/derived/phase-rows.ts';
import type { Run, Status, ToldRun } from '../../wire/status.ts';
import { formatDuration } from '../../wire/texts/times.ts';
import { type CommandArguments, interruptedExitCode } from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import type { Session } from '../connection/create-session.ts';
import { explainFailedResult } from '../connection/explain-failed-result.ts';
import { formatClockTime } from '../output/client-texts-and-formats.ts';
import {
  type ClientCommandResult,
  colorLineMark,
  formatRunResult,
  runNounOf,
} from '../output/run-result-text.ts';
import { escapeResponseTexts, formatJsonLine, joinLines } from '../output/text.ts';
import { type FollowedRunState, logCommandOf, type ProgressPrinter } from './followed-run-state.ts';
import { JsonEventPrinter, PlainLinePrinter } from './line-printers.ts';
import { LivePhasePrinter } from './live-phase-printer.ts';

export interface FollowOptions {
  /** Latest state of the run as sent by the server, not escaped. */
  run: ToldRun;
  /** Seconds without a response after which the client stops following. */
  timeout: number;
  json: boolean;
  /** Creates the result to print instead of the default one. */
  endingOf?: (run: Run, status: Status | null) => ClientCommandResult;
}

export const defaultFollowTimeoutSeconds = 900;

export const followTimeoutOption: OptionRow = {
  value: 'SECONDS',
  form: [/^(?!0+$)\d{1,7}$/, 'a number of seconds from 1 to 9999999'],
  help: `Stop following after SECONDS without a response (default: ${defaultFollowTimeoutSeconds})`,
};

export const followTimeoutSecondsOf = ({ options: { timeout } }: CommandArguments): number =>
  Number(timeout ?? defaultFollowTimeoutSeconds);

/** Time in ms for which 401 responses may be due to a restart of the server. */
const loggedOutMs = 30_000;
const second = 1000;
/** If two ticks are at least this many ms apart instead of 1000 ms, the process or the machine was asleep. */
const minimumSleepMs = 30_000;

/** Follows a run and prints its result, or prints why the client stopped following before the run ended. */
export async function followRunToResult(
  session: Session,
  options: FollowOptions,
): Promise<{ exitCode: number; run: ToldRun }> {
  const now = session.now();
  const view: FollowedRunState = {
    run: escapeResponseTexts(options.run),
    receivedAt: now,
    lastResponseAt: now,
    refused: null,
  };
  const parting = await printRunProgress(session, options, view, (signal) =>
    followRun(session.reader, { runId: options.run.id, signal }),
  );
  const { lines, exitCode } =
    parting ?? (options.endingOf ?? formatRunResult)(view.run, await fetchStatusForAdmins(session));
  printResultLines(session, lines, options.json);
  return { exitCode, run: view.run };
}

/** Prints the result of a finished run. Resolves with the exit code. */
export async function printFinishedRun(session: Session, run: ToldRun, json: boolean): Promise<number> {
  if (json) session.stdout.write(formatJsonLine({ event: 'run', data: run }));
  const { lines, exitCode } = formatRunResult(
    escapeResponseTexts(run),
    json ? null : await fetchStatusForAdmins(session),
  );
  printResultLines(session, lines, json);
  return exitCode;
}

/** Resolves with null if the response is invalid or missing, or if the user is not an admin. */
async function fetchStatusForAdmins({ reader }: Session): Promise<Status | null> {
  const response = await reader.fetchStatus();
  return response.kind === 'ok' && isAdminStatus(response.value) ? escapeResponseTexts(response.value) : null;
}

export function printResultLines(
  { stdout, stderr, isTerminal }: Session,
  lines: readonly string[],
  json: boolean,
): void {
  (json ? stderr : stdout).write(joinLines(isTerminal && !json ? lines.map(colorLineMark) : lines));
}

/** Reason why the client stops following before the run ends. */
type StopReason = 'interrupted' | 'unknown' | 'logged-out' | 'silent';

/**
 * Prints a followed run after each event. Resolves with null when the run or its events end. If the client gives up,
 * resolves with the lines to print.
 */
export async function printRunProgress(
  session: Session,
  { timeout, json }: Pick<FollowOptions, 'timeout' | 'json'>,
  view: FollowedRunState,
  newsOf: (signal: AbortSignal) => AsyncIterable<RunFollowEvent>,
): Promise<ClientCommandResult | null> {
  const { signal } = session;
  const printer = printerFor(session, json);
  const stop = new AbortController();
  let why = null as StopReason | null;
  let hasEnded = false;
  const giveUp = (reason: StopReason) => {
    why ??= reason;
    stop.abort();
  };
  let loggedOutSince: number | null = null;
  let lookedAt = session.now();
  const look = () => {
    const at = session.now();
    if (at - lookedAt > minimumSleepMs) {
      view.lastResponseAt = at;
      loggedOutSince = loggedOutSince === null ? null : at;
    }
    lookedAt = at;
    printer.show(view, at);
    // Give up only after a failed request. A silent stream is not enough: `followRun` reports a lost connection as a
    // failed request.
    if (view.refused !== null && at - view.lastResponseAt >= timeout * second) giveUp('silent');
    if (loggedOutSince !== null && at - loggedOutSince >= loggedOutMs) giveUp('logged-out');
  };
  const interrupt = () => giveUp('interrupted');
  signal.addEventListener('abort', interrupt);
  if (signal.aborted) interrupt();
  const ticking = setInterval(look, second);
  try {
    if (!view.pendingStep) printer.begin?.(view, session.now());
    for await (const news of newsOf(stop.signal)) {
      printer.news?.(news);
      applyNews(view, news, session.now());
      loggedOutSince = isLoggedOut(news, view) ? (loggedOutSince ?? session.now()) : null;
      if (news.kind === 'unknown') why = 'unknown';
      else if (news.kind === 'run' && view.run.outcome !== null) hasEnded = true;
      else look();
    }
  } finally {
    clearInterval(ticking);
    signal.removeEventListener('abort', interrupt);
  }
  printer.end?.(view, session.now());
  if (why === null || hasEnded) return null;
  const lines = await formatStopLines(why, view, session, timeout);
  return { lines, exitCode: why === 'interrupted' ? interruptedExitCode : 1 };
}

function printerFor(session: Session, json: boolean): ProgressPrinter {
  if (json) return new JsonEventPrinter(session.stdout, session.stderr);
  return session.isTerminal ? new LivePhasePrinter(session) : new PlainLinePrinter(session.stdout);
}

function applyNews(view: FollowedRunState, news: RunFollowEvent, now: number): void {
  view.refused = news.kind === 'unheard' ? news.refused : null;
  if (news.kind !== 'unheard') view.lastResponseAt = now;
  if (news.kind !== 'run') return;
  view.run = escapeResponseTexts(news.run);
  view.receivedAt = now;
}

/**
 * While the server may be unavailable, a proxy may respond with a redirect or a 401. Only a 401 from the server itself
 * then means that the login has expired.
 */
const isLoggedOut = (news: RunFollowEvent, { run }: FollowedRunState): boolean =>
  news.kind === 'unheard' &&
  news.refused.kind === 'logged-out' &&
  ((news.refused.status === 401 && news.refused.inFront === null) || !canProductBeUnavailable(run));

async function formatStopLines(
  why: StopReason,
  { run, refused, pendingStep }: FollowedRunState,
  { reader, config }: Session,
  timeout: number,
): Promise<string[]> {
  const { name } = getProductNames();
  const noun = runNounOf(run);
  switch (why) {
    case 'interrupted':
      return [formatInterruptMessage(run, pendingStep?.to)];
    case 'unknown': {
      const response = await reader.fetchStatus();
      const version =
        response.kind === 'ok' ? `${name} ${escapeResponseTexts(response.value).version}` : name;
      const startedAt = formatClockTime(run.startedAt, run.now);
      return [
        `The server (${version}) has no record of the ${noun} that started at ${startedAt}. On the server, run: ${logCommandOf(run)}`,
      ];
    }
    case 'logged-out':
      return refused?.kind === 'logged-out' && refused.inFront !== null
        ? [
            explainFailedResult(refused, config),
            `The ${noun} continues. To follow its progress: ${name} instance follow`,
          ]
        : [
            `${name} no longer accepts the token (401). The ${noun} continues.`,
            `Log in again and run: ${name} instance follow`,
          ];
    case 'silent':
      return [
        `${name} has not responded for ${formatDuration(timeout * second)}; the result of the ${noun} is unknown.`,
        `On the server, run: ${logCommandOf(run)}`,
        `When ${name} responds again, run: ${name} instance follow`,
      ];
  }
}

/** Message after Ctrl-C, which does not stop the run on the server. */
function formatInterruptMessage(run: Run, next: string | undefined): string {
  const { name } = getProductNames();
  if (next !== undefined)
    return `The update to ${next} will start automatically. To follow its progress: ${name} instance follow. To cancel: ${name} instance cancel.`;
  const what = `The ${runNounOf(run)}`;
  const following = `${what} continues. To follow its progress: ${name} instance follow.`;
  if (isTooLateToCancel(run)) return `${following} ${what} can no longer be cancelled.`;
  if (run.state !== 'waiting') return `${following} To cancel: ${name} instance cancel.`;
  const { length } = run.jobs;
  const jobs = length === 1 ? 'the running job has' : `the ${length} running jobs have`;
  return `${what} will start when ${jobs} finished. To cancel: ${name} instance cancel.`;
}
