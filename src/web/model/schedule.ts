/** Polling interval in ms while the page is idle. */
const idlePollIntervalMs = 60_000;
/** Polling interval in ms until the first response, during a run, and while a dialog is open. */
export const shortPollIntervalMs = 5_000;

export interface PollingConditions {
  /** Whether the tab is visible and contains an element of this library. */
  isVisible: boolean;
  isDialogOpen: boolean;
  /** Whether the server has responded since the page was loaded. */
  hasServerResponse: boolean;
  /** Id of the run in progress. Null if there is no run; empty if a run is expected or its id is unknown. */
  runInProgressId: string | null;
  /** Whether a status request is pending. */
  isRequestPending: boolean;
  /** Value of `performance.now()` when the last status request was sent; null before the first request. */
  requestedAt: number | null;
  /** Whether to request a status immediately, for example because the tab was shown again or a run has ended. */
  isStatusNeeded: boolean;
}

interface RequestSchedule {
  /** Value of `performance.now()` at which the next status request is due; null if no request is due. */
  askAt: number | null;
  /** Id of the run whose event stream must be open; null if no stream must be open. */
  follow: string | null;
}

/**
 * Decides which requests to send, and when (docs/contract.md 10.5). Only a visible tab with an open dialog opens an
 * event stream, because on plain HTTP all tabs share six connections. While the stream is open, the tab does not poll.
 */
export function planRequests(situation: PollingConditions): RequestSchedule {
  const {
    isVisible: isLookedAt,
    isDialogOpen,
    hasServerResponse: hasAnswer,
    runInProgressId: openRun,
    isRequestPending: isAsking,
    requestedAt: askedAt,
    isStatusNeeded: isDue,
  } = situation;
  if (!isLookedAt) return { askAt: null, follow: null };
  const follow = isDialogOpen && openRun ? openRun : null;
  if (isAsking) return { askAt: null, follow };
  if (isDue || askedAt === null) return { askAt: 0, follow };
  if (follow !== null) return { askAt: null, follow };
  const isClose = isDialogOpen || openRun !== null || !hasAnswer;
  return { askAt: askedAt + (isClose ? shortPollIntervalMs : idlePollIntervalMs), follow };
}
