import {
  findNextStepVersion,
  findNextStepVersionAfterSuccess,
} from '../../wire/derived/upgrade-path-position.ts';
import type { Run, Status, ToldRun } from '../../wire/status.ts';
import {
  type ClientCommand,
  type CommandContext,
  CommandFailedError,
} from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import {
  createInterruptedError,
  createRequestFailedError,
  createSession,
  type Session,
} from '../connection/create-session.ts';
import { explainFailedResult } from '../connection/explain-failed-result.ts';
import { defaultFollowTimeoutSeconds, followRunToResult } from '../follow/follow-run-to-result.ts';
import { type ClientCommandResult, formatRunResult } from '../output/run-result-text.ts';
import {
  escapeControlCharacters,
  escapeResponseTexts,
  formatServerMessage,
  joinLines,
} from '../output/text.ts';

export const instanceCancelCommand: ClientCommand = {
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

async function run(context: CommandContext): Promise<number> {
  const session = createSession(context);
  const { name } = getProductNames();
  const current = await findCurrent(session);
  const run = current === null ? 'No update is in progress.' : await cancel(session);
  const next = current && findNextStepVersion(escapeResponseTexts(current));
  const nextLines =
    next === null ? [] : [`${next} will be installed next. To cancel: ${name} instance cancel`];
  if (typeof run === 'string') {
    session.stdout.write(joinLines([run, ...nextLines]));
    return 3;
  }
  if (current?.outcome != null) {
    session.stdout.write(
      `✓ Upgrade path cancelled. ${name} ${escapeResponseTexts(run).to} is still running.\n`,
    );
    return 0;
  }
  const { exitCode } = await followRunToResult(session, {
    run,
    timeout: defaultFollowTimeoutSeconds,
    json: false,
    endingOf: (run, status) => formatCancelResult(run, status, nextLines),
  });
  return exitCode;
}

/**
 * Finds the run in progress, or the last run if the next step of its upgrade path is pending. Resolves with null if
 * there is neither.
 */
async function findCurrent(session: Session): Promise<ToldRun | null> {
  const response = await session.reader.fetchRun({ signal: session.signal });
  if (response.kind === 'ok') {
    const { value: run } = response;
    return run.outcome === null || findNextStepVersionAfterSuccess(run) !== null ? run : null;
  }
  if (response.kind === 'problem' && response.problem.status === 404) return null;
  throw createRequestFailedError(response, session);
}

/**
 * Cancels the run. Resolves with the run, or with a message if the server refuses the request. If the response is lost,
 * repeats the request, which is safe.
 */
async function cancel(session: Session): Promise<ToldRun | string> {
  const { reader, config, signal } = session;
  for (let attempt = 1; ; attempt++) {
    const response = await reader.cancelRun({ signal });
    if (response.kind === 'ok') return response.value;
    if (signal.aborted) throw createInterruptedError();
    if (response.kind === 'logged-out') throw createRequestFailedError(response, session);
    if (response.kind === 'problem') {
      const { status, detail } = response.problem;
      if (status === 409) return formatServerMessage(escapeControlCharacters(detail));
      if (status < 500) throw createRequestFailedError(response, session);
    }
    if (attempt === tries)
      throw new CommandFailedError(
        1,
        `${explainFailedResult(response, config)} It is unknown whether the server received the cancellation request.`,
      );
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function formatCancelResult(
  run: Run,
  status: Status | null,
  nextLines: readonly string[],
): ClientCommandResult {
  const { lines, exitCode } = formatRunResult(run, status);
  if (run.outcome !== 'cancelled') {
    const later = findNextStepVersionAfterSuccess(run) === null ? [] : nextLines;
    return { lines: ['It was too late to cancel.', ...lines, ...later], exitCode: exitCode || 3 };
  }
  return { lines: [`✓ Cancelled. ${formatServerMessage(run.message)}`], exitCode: 0 };
}
