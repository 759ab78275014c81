import type { PageState } from './page-state.ts';
import { endKind, isSame, openRun } from './selectors.ts';

/** What a notice shows. */
export interface NoticeView {
  /** What runs; null before anything is known. */
  version: string | null;
  /** The version is a button that opens the dialog. */
  isButton: boolean;
  pill: Pill | null;
}

export type Pill =
  | { kind: 'updating'; percent: number | null; isButton: boolean }
  | { kind: 'failed' }
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

export function noticeView(
  state: PageState,
  { isAdmin, pageVersion, dismissed, isDialogOpen }: NoticeSurroundings,
): NoticeView {
  const { status, version, versionBefore } = state;
  // Whoever is told what users are told is none, whatever the page says.
  const asAdmin = isAdmin && (status !== null || version === null);
  const run = openRun(state);
  const common = { version: version ?? pageVersion, isButton: asAdmin };
  if (run !== null || state.isUpdating)
    return {
      ...common,
      pill: { kind: 'updating', percent: asAdmin ? (run?.percent ?? null) : null, isButton: asAdmin },
    };
  const isOld =
    pageVersion !== null &&
    version !== null &&
    versionBefore !== null &&
    isSame(version, versionBefore) &&
    !isSame(version, pageVersion);
  // Not under a dialog: somebody may be typing here.
  if (isOld && !isDialogOpen) return { ...common, pill: { kind: 'reload', version } };
  if (!asAdmin || status === null) return { ...common, pill: null };
  const { run: last } = status;
  // An outcome of a newer server's own is shown in the dialog alone, in its words.
  if (last && ['failed', 'broken'].includes(endKind(last)) && !dismissed.has(last.id))
    return { ...common, pill: { kind: 'failed' } };
  return { ...common, pill: status.next ? { kind: 'available', to: status.next.version } : null };
}
