import { setTimeout as sleep } from 'node:timers/promises';
import { isAdminStatus } from '../../wire/api-client/parse-responses.ts';
import { createNoResponseResult } from '../../wire/api-client/request-result.ts';
import type { RunFollowEvent } from '../../wire/api-client/run-follow-events.ts';
import { findExpectedUpgradeStep } from '../../wire/derived/upgrade-path-position.ts';
import type { PendingStep, Status, ToldRun } from '../../wire/status.ts';
import { getProductNames } from '../command-line/product-names.ts';
import type { Session } from '../connection/create-session.ts';
import { exitCodeOf } from '../output/run-result-text.ts';
import { escapeResponseTexts, formatJsonLine, formatServerMessage } from '../output/text.ts';
import {
  type FollowOptions,
  followRunToResult,
  printFinishedRun,
  printResultLines,
  printRunProgress,
} from './follow-run-to-result.ts';
import type { FollowedRunState } from './followed-run-state.ts';

/** Time in ms between two polls for the start of the next step. */
const pause = 2_000;
/**
 * Number of consecutive responses without a next step after which the upgrade path has ended. A single response may
 * omit a step that is just starting.
 */
const maximumMissing = 3;

/** Follows a run and the remaining steps of its upgrade path. Resolves with one exit code for the whole path. */
export async function followUpgradePath(session: Session, options: FollowOptions): Promise<number> {
  let { run } = options;
  for (;;) {
    const ended =
      run.outcome === null
        ? await followRunToResult(session, { ...options, run })
        : { exitCode: await printFinishedRun(session, run, options.json), run };
    const expected = findExpectedUpgradeStep(ended.run);
    if (expected === null) return ended.exitCode;
    const next = await waitForNextStep(session, ended.run, { ...options, expected });
    if (typeof next === 'number') return next;
    run = next;
  }
}

/**
 * Prints why the next step has not started, and waits for it. Resolves with the run of the next step, or with the exit
 * code if no run starts.
 */
async function waitForNextStep(
  session: Session,
  last: ToldRun,
  { expected, timeout, json }: FollowOptions & { expected: PendingStep },
): Promise<ToldRun | number> {
  const now = session.now();
  const { to, since } = expected;
  const view: FollowedRunState & { pendingStep: PendingStep } = {
    run: last,
    receivedAt: now,
    lastResponseAt: now,
    refused: null,
    pendingStep: expected,
  };
  const told: { status: Status | null; as: string } = { status: null, as: '' };
  const note = (status: Status): void => {
    const { pendingStep } = status;
    told.status = status;
    view.run = { ...view.run, now: status.now };
    view.receivedAt = session.now();
    if (pendingStep === null) return;
    view.pendingStep = escapeResponseTexts(pendingStep);
    const words = JSON.stringify([pendingStep.to, pendingStep.reason]);
    if (json && words !== told.as)
      session.stdout.write(formatJsonLine({ event: 'pendingStep', data: pendingStep }));
    told.as = words;
  };
  const parting = await printRunProgress(session, { timeout, json }, view, (signal) =>
    pollForNextStep(session, last, { note, signal }),
  );
  if (parting !== null) {
    printResultLines(session, parting.lines, json);
    return parting.exitCode;
  }
  const { run = null, now: clock = since } = told.status ?? {};
  const goal = last.upgradePath.at(-1);
  if (run !== null && run.id !== last.id && run.upgradePath.at(-1) === goal) return { ...run, now: clock };
  if (json) session.stdout.write(formatJsonLine({ event: 'pendingStep', data: null }));
  const { reason, until } = view.pendingStep;
  const isLate = Date.parse(clock) >= Date.parse(until);
  const waited = reason === null ? 'the update did not start.' : formatServerMessage(reason);
  printResultLines(
    session,
    [
      isLate
        ? `${last.to} did not become ready for the update to ${to} before the deadline: ${waited}`
        : `The upgrade path was cancelled; ${to} was not installed.`,
      `To continue: ${getProductNames().name} instance update --all-steps`,
    ],
    json,
  );
  return isLate ? 3 : exitCodeOf('cancelled');
}

/** Polls until the server reports a new run or no longer reports a next step. */
async function* pollForNextStep(
  { reader }: Session,
  last: ToldRun,
  { note, signal }: { note: (status: Status) => void; signal: AbortSignal },
): AsyncGenerator<RunFollowEvent, void> {
  for (let missing = 0; missing < maximumMissing; ) {
    const response = await reader.fetchStatus({ signal });
    if (signal.aborted) return;
    if (response.kind === 'ok' && isAdminStatus(response.value)) {
      const { run, pendingStep } = response.value;
      note(response.value);
      if (run !== null && run.id !== last.id) return;
      missing = pendingStep === null ? missing + 1 : 0;
      yield { kind: 'heard' };
    } else
      yield {
        kind: 'unheard',
        refused: response.kind === 'ok' ? createNoResponseResult({ what: 'late' }) : response,
      };
    await sleep(pause, undefined, { signal }).catch(() => {});
  }
}
