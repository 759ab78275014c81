/** Time in ms between two status requests if the page is idle. */
const calmPause = 60_000;
/** Time in ms between two status requests until the first response, during a run, and while a dialog is open. */
export const shortPollIntervalMs = 5_000;

export interface PollingConditions {
  /** Whether the tab is visible and contains an element of this library. */
  isLookedAt: boolean;
  isDialogOpen: boolean;
  /** Whether the server has responded since the page was loaded. */
  hasAnswer: boolean;
  /** Id of the run in progress. Empty if the id is unknown or the run is about to start. */
  openRun: string | null;
  /** Whether a status request is pending. */
  isAsking: boolean;
  /** Start time of the last status request, as milliseconds of the page's counter; null before the first request. */
  askedAt: number | null;
  /** Whether a new status must be requested, because the tab was shown again or a run has ended. */
  isDue: boolean;
}

interface RequestSchedule {
  /** Time of the next status request; null if no request must be sent. */
  askAt: number | null;
  /** Id of the run whose event stream must be open; null for no stream. */
  follow: string | null;
}

/**
 * Decides which requests are sent, and when (docs/contract.md 10.5). All tabs of a browser share six connections to a
 * server on plain HTTP. Therefore, only a visible tab with an open dialog opens an event stream, and sends no other
 * requests during that time.
 */
export function scheduleRequests(situation: PollingConditions): RequestSchedule {
  const { isLookedAt, isDialogOpen, hasAnswer, openRun, isAsking, askedAt, isDue } = situation;
  if (!isLookedAt) return { askAt: null, follow: null };
  const follow = isDialogOpen && openRun ? openRun : null;
  if (isAsking) return { askAt: null, follow };
  if (isDue || askedAt === null) return { askAt: 0, follow };
  if (follow !== null) return { askAt: null, follow };
  const isClose = isDialogOpen || openRun !== null || !hasAnswer;
  return { askAt: askedAt + (isClose ? shortPollIntervalMs : calmPause), follow };
}
