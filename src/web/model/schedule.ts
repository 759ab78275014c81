/** Time in ms between two status requests when the page is idle. */
const calmPause = 60_000;
/** Time in ms between two status requests during a run, while a dialog is open, and until the first response. */
export const closePause = 5_000;

export interface PollingConditions {
  /** Whether the tab is visible and contains an element. */
  isLookedAt: boolean;
  isDialogOpen: boolean;
  /** Whether svc has responded since the page was loaded. */
  hasAnswer: boolean;
  /** Id of the run in progress; `''` if the id is unknown or the run is about to start. */
  openRun: string | null;
  /** Whether a status request is pending. */
  isAsking: boolean;
  /** Start of the last request, in milliseconds of the page's counter; null before the first request. */
  askedAt: number | null;
  /** Whether the last response is outdated, because the tab was shown again or a run has ended. */
  isDue: boolean;
}

interface RequestSchedule {
  /** Time of the next status request; null for no request. */
  askAt: number | null;
  /** Id of the run whose event stream must be open. */
  follow: string | null;
}

/**
 * Decides which requests are sent, and when (docs/contract.md 10.5). All tabs of a browser share six connections to a
 * plain-HTTP host. Therefore, only a visible tab with an open dialog opens a stream, and the tab then sends no other
 * requests.
 */
export function scheduleRequests(situation: PollingConditions): RequestSchedule {
  const { isLookedAt, isDialogOpen, hasAnswer, openRun, isAsking, askedAt, isDue } = situation;
  if (!isLookedAt) return { askAt: null, follow: null };
  const follow = isDialogOpen && openRun ? openRun : null;
  if (isAsking) return { askAt: null, follow };
  if (isDue || askedAt === null) return { askAt: 0, follow };
  if (follow !== null) return { askAt: null, follow };
  const isClose = isDialogOpen || openRun !== null || !hasAnswer;
  return { askAt: askedAt + (isClose ? closePause : calmPause), follow };
}
