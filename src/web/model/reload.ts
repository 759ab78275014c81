import type { Shelf } from './dismissed-runs.ts';
import type { PageState } from './page-state.ts';

/** The run for whose end the page is loaded anew; null where it is not, or not yet. */
export function reloadFor({ watched, watchedEndedAt, answeredAt, status }: PageState): string | null {
  if (watched?.outcome !== 'updated' || watchedEndedAt === null) return null;
  // Only a server that knows that end has the page of the new version.
  const isAnswered = answeredAt !== null && answeredAt > watchedEndedAt;
  const isKnown = status !== null && (status.run?.id !== watched.id || status.run.outcome !== null);
  return isAnswered && isKnown ? watched.id : null;
}

/** What a page leaves to the one that takes its place. */
export interface Handover {
  run: string;
  /** Jobs that were queued when the update began. */
  queued: number;
}

/** As much of `sessionStorage` as is used. */
export interface TabShelf extends Shelf {
  removeItem(key: string): void;
}

const key = 'svc-update-farewell';

/** @param shelf `sessionStorage`, which is the tab's; asked each time, as to ask for it may throw already */
export function leaveHandover(shelf: () => TabShelf, handover: Handover): void {
  try {
    shelf().setItem(key, JSON.stringify(handover));
  } catch {
    // The next page has nothing to tell then.
  }
}

/** What the page before has left, once. */
export function takeHandover(shelf: () => TabShelf): Handover | null {
  try {
    const text = shelf().getItem(key);
    shelf().removeItem(key);
    const { run, queued } = JSON.parse(text ?? '{}') as Partial<Handover>;
    return typeof run === 'string' ? { run, queued: typeof queued === 'number' ? queued : 0 } : null;
  } catch {
    return null;
  }
}
