import type { Texts } from '../../presentation/english.ts';
import { isSameVersion, resultKindOf } from '../../presentation/present-result.ts';
import { createLatestUpdateRequest } from '../../presentation/present-status.ts';
import { joinFacts } from '../../presentation/texts-and-formats.ts';
import { automaticCaller } from '../../wire/codes.ts';
import {
  findUpgradePathPosition,
  type UpgradePathPosition,
} from '../../wire/derived/upgrade-path-position.ts';
import type { Run } from '../../wire/status.ts';
import type { PageState } from './page-state.ts';
import {
  findPendingStep,
  findPendingStepPosition,
  findRunInProgress,
  isAutomaticRunWithoutChange,
  isRollbackRun,
} from './selectors.ts';

export interface NoticeView {
  /**
   * Running version. Before the first response, the version of the server that rendered the page, or null if that
   * version is unknown.
   */
  version: string | null;
  /** Whether the version is shown as a button that opens the dialog. */
  isButton: boolean;
  pill: NoticePill | null;
  /** Successful automatic update whose message has not been closed yet. */
  news: Run | null;
}

export interface NoticePill {
  kind: 'updating' | 'failed' | 'reload' | 'recalled' | 'urgent' | 'available';
  label: string;
  isBad?: boolean;
  /** Tooltip with the publisher's reason for the recall or the urgent update. */
  title?: string;
}

export interface NoticeContext {
  /** Whether the element has the `admin` attribute. */
  isAdmin: boolean;
  /** Version of the server that rendered the page; null if unknown. */
  pageVersion: string | null;
  dismissed: ReadonlySet<string>;
  isDialogOpen: boolean;
}

export function buildNoticeView(state: PageState, surroundings: NoticeContext, t: Texts): NoticeView {
  const { status, version } = state;
  // A user who receives only the status for non-admins is not an admin, even if the page sets the `admin` attribute
  // (docs/contract.md 10.9).
  const isButton = surroundings.isAdmin && (status !== null || version === null);
  return {
    version: version ?? surroundings.pageVersion,
    isButton,
    pill: pillOf(state, surroundings, isButton, t),
    news: isButton ? findAnnouncedRun(state, surroundings) : null,
  };
}

function pillOf(
  state: PageState,
  { pageVersion, dismissed, isDialogOpen }: NoticeContext,
  isAdmin: boolean,
  t: Texts,
): NoticePill | null {
  const { status, version, versionBefore } = state;
  const run = findRunInProgress(state);
  const pendingStep = findPendingStep(state);
  if (run !== null || state.isUpdating || pendingStep) {
    const location = pendingStep ? findPendingStepPosition(state, pendingStep) : findUpgradePathPosition(run);
    return { kind: 'updating', label: formatUpdatingLabel(run, isAdmin ? location : null, isAdmin, t) };
  }
  const isOld =
    pageVersion !== null &&
    version !== null &&
    versionBefore !== null &&
    isSameVersion(version, versionBefore) &&
    !isSameVersion(version, pageVersion);
  // While a dialog is open, no reload is suggested, because the user may be typing.
  if (isOld && !isDialogOpen) return { kind: 'reload', label: t.reloadFor(version) };
  if (!isAdmin || status === null) return null;
  const { run: last, next, recalled, urgent, skipped } = status;
  // Ignore an outcome that this page does not know: a newer server has sent it. The dialog shows the server's text for
  // this outcome.
  if (
    last &&
    ['failed', 'broken'].includes(resultKindOf(last)) &&
    !dismissed.has(last.id) &&
    !isAutomaticRunWithoutChange(last)
  )
    return { kind: 'failed', label: isRollbackRun(last) ? t.rollbackFailed : t.updateFailed, isBad: true };
  const to = next && skipped === null ? createLatestUpdateRequest(status).target : null;
  if (recalled) {
    const label = joinFacts(t.recalled(status.version), to && t.updateTo(to));
    return { kind: 'recalled', label, isBad: true, title: recalled.why };
  }
  if (urgent && skipped === null)
    return { kind: 'urgent', label: to ? t.securityUpdateTo(to) : t.securityUpdate, title: urgent.why };
  return to === null ? null : { kind: 'available', label: t.updateTo(to) };
}

function formatUpdatingLabel(
  run: Run | null,
  location: UpgradePathPosition | null,
  isAdmin: boolean,
  t: Texts,
): string {
  if (location) return t.updatingStep(location.at + 1, location.versions.length);
  const percent = isAdmin ? (run?.percent ?? null) : null;
  if (isRollbackRun(run)) return percent === null ? t.rollingBack : t.rollingBackPercent(percent);
  return percent === null ? t.updating : t.updatingPercent(percent);
}

/**
 * Finds the automatic update to announce. A page of an older version announces no update, because it suggests a reload
 * first.
 */
function findAnnouncedRun(
  { status, version }: PageState,
  { pageVersion, dismissed }: NoticeContext,
): Run | null {
  const run = status?.run;
  const isNew = run?.by === automaticCaller && run.outcome === 'updated' && !dismissed.has(run.id);
  return isNew && version !== null && isSameVersion(pageVersion ?? version, version) ? run : null;
}
