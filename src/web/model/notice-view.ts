import { byItself } from '../../wire/codes.ts';
import type { Run } from '../../wire/status.ts';
import type { PageState } from './page-state.ts';
import {
  betweenOf,
  endKind,
  isQuiet,
  isRollback,
  isSame,
  openRun,
  orderOf,
  type PathPlace,
  placeBetween,
  placeOf,
} from './selectors.ts';

export interface NoticeView {
  /** What runs; null before anything is known. */
  version: string | null;
  /** The version is a button that opens the dialog. */
  isButton: boolean;
  pill: Pill | null;
  /** An update by itself that the person has not been told of. */
  news: Run | null;
}

export type Pill =
  | {
      kind: 'updating';
      isRollback: boolean;
      percent: number | null;
      place: PathPlace | null;
      isButton: boolean;
    }
  | { kind: 'failed'; isRollback: boolean }
  | { kind: 'reload'; version: string }
  | { kind: 'available'; to: string };

export interface NoticeSurroundings {
  /** The element has the attribute `admin`. */
  isAdmin: boolean;
  /** The version that the page was made by, where it says so. */
  pageVersion: string | null;
  dismissed: ReadonlySet<string>;
  isDialogOpen: boolean;
}

export function noticeView(state: PageState, surroundings: NoticeSurroundings): NoticeView {
  const { status, version } = state;
  // Whoever gets a user's answer is no admin, whatever the page says (docs/contract.md 10.9).
  const isButton = surroundings.isAdmin && (status !== null || version === null);
  return {
    version: version ?? surroundings.pageVersion,
    isButton,
    pill: pillOf(state, surroundings, isButton),
    news: isButton ? newsOf(state, surroundings) : null,
  };
}

function pillOf(
  state: PageState,
  { pageVersion, dismissed, isDialogOpen }: NoticeSurroundings,
  isAdmin: boolean,
): Pill | null {
  const { status, version, versionBefore } = state;
  const run = openRun(state);
  const pendingStep = betweenOf(state);
  if (run !== null || state.isUpdating || pendingStep)
    return {
      kind: 'updating',
      isRollback: isRollback(run),
      percent: isAdmin ? (run?.percent ?? null) : null,
      place: isAdmin ? (pendingStep ? placeBetween(state, pendingStep) : placeOf(run)) : null,
      isButton: isAdmin,
    };
  const isOld =
    pageVersion !== null &&
    version !== null &&
    versionBefore !== null &&
    isSame(version, versionBefore) &&
    !isSame(version, pageVersion);
  // Not under a dialog: somebody may be typing here.
  if (isOld && !isDialogOpen) return { kind: 'reload', version };
  if (!isAdmin || status === null) return null;
  const { run: last, next } = status;
  // An outcome of a newer server's own is shown in the dialog alone, in its words.
  if (last && ['failed', 'broken'].includes(endKind(last)) && !dismissed.has(last.id) && !isQuiet(last))
    return { kind: 'failed', isRollback: isRollback(last) };
  return next && status.skipped === null ? { kind: 'available', to: orderOf(status).target } : null;
}

/** A page that was left open is told once it is of the new version: until then it offers to load itself anew. */
function newsOf({ status, version }: PageState, { pageVersion, dismissed }: NoticeSurroundings): Run | null {
  const run = status?.run;
  const isNew = run?.by === byItself && run.outcome === 'updated' && !dismissed.has(run.id);
  return isNew && version !== null && isSame(pageVersion ?? version, version) ? run : null;
}
