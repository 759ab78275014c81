/** Milliseconds between two requests for the status where nobody waits for anything. */
const calmPause = 60_000;
/** The same during a run, while a dialog is open, and until svc has answered for the first time. */
export const closePause = 5_000;

export interface Situation {
  /** The tab is shown, and an element is in it. */
  isLookedAt: boolean;
  isDialogOpen: boolean;
  /** svc has answered since the page is there. */
  hasAnswer: boolean;
  /** The id of the run that is open as far as the page knows, `''` where only that there is one, or is to be in a moment. */
  openRun: string | null;
  /** A request for the status is under way. */
  isAsking: boolean;
  /** When the last request was begun, in milliseconds of the page's counter; null where none was. */
  askedAt: number | null;
  /** The last answer is out of date: the tab is shown again, a run has ended. */
  isDue: boolean;
}

export interface Schedule {
  /** When the status is asked for; null: not at all. */
  askAt: number | null;
  /** The run whose event stream is held open. */
  follow: string | null;
}

/**
 * What is asked of the server, and when (docs/contract.md 10.5). A browser has six connections to a plain-HTTP host, which
 * all of its tabs share: so only a tab that is looked at and shows a dialog holds a stream, and then asks for nothing else.
 */
export function schedule(situation: Situation): Schedule {
  const { isLookedAt, isDialogOpen, hasAnswer, openRun, isAsking, askedAt, isDue } = situation;
  if (!isLookedAt) return { askAt: null, follow: null };
  const follow = isDialogOpen && openRun ? openRun : null;
  if (isAsking) return { askAt: null, follow };
  if (isDue || askedAt === null) return { askAt: 0, follow };
  if (follow !== null) return { askAt: null, follow };
  const isClose = isDialogOpen || openRun !== null || !hasAnswer;
  return { askAt: askedAt + (isClose ? closePause : calmPause), follow };
}
