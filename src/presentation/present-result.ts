import type { UpdateRequestBody } from '../wire/api-client/update-api-client.ts';
import { automaticCaller, type EndState, isSuccessfulOutcome, lookUpByCode } from '../wire/codes.ts';
import type { Run, Status } from '../wire/status.ts';
import { removeBuildServerWarnings } from '../wire/texts/build-server-warning.ts';
import { formatMessageClause } from '../wire/texts/messages.ts';
import { presentPhases } from './present-run.ts';
import { createLatestUpdateRequest, presentBuildServers } from './present-status.ts';
import {
  createButton,
  createMessageBox,
  createMutedText,
  createPageLink,
  type MessageBox,
  type Presentation,
  type PresentationPart,
  type UserAction,
} from './presentation-parts.ts';
import { formatCodeText, joinFacts, type TextsAndFormats } from './texts-and-formats.ts';

type ResultKind = 'updated' | 'unchanged' | 'failed' | 'cancelled' | 'broken' | 'other-end';

const resultKinds: Record<EndState, ResultKind> = {
  updated: 'updated',
  unchanged: 'unchanged',
  refused: 'failed',
  failed: 'failed',
  cancelled: 'cancelled',
  broken: 'broken',
  crashed: 'broken',
};

export const resultKindOf = ({ outcome }: Run): ResultKind =>
  lookUpByCode(resultKinds, outcome ?? '') ?? 'other-end';

export const isSuccessfulOrCancelledRun = (run: Run): boolean =>
  ['updated', 'unchanged', 'cancelled'].includes(resultKindOf(run));

/** Ignores a leading `v`. */
export const isSameVersion = (one: string, other: string): boolean =>
  one.replace(/^v/, '') === other.replace(/^v/, '');

export const listOutdatedBuildServers = (status: Status | null): Status['buildServers'] =>
  status?.buildServers.filter(({ outdated }) => outdated) ?? [];

/** Returns null unless the version is the latest release. */
export const findReleasePageUrl = (status: Status | null, version: string | null): string | null =>
  status?.latest?.version === version ? (status?.latest?.url ?? null) : null;

/** Presents a finished run. `version` is the running version. `status` and `version` are null if unknown. */
export function presentRunResult(
  run: Run,
  { status, version }: { status: Status | null; version: string | null },
  t: TextsAndFormats,
): Presentation {
  const kind = resultKindOf(run);
  const isUpdated = kind === 'updated';
  const isGood = isSuccessfulOrCancelledRun(run);
  const isOtherVersion = isOtherVersionRunning(run, version);
  // Checked for the last run only: after an earlier run, another run may have changed the version.
  const isLagging = isSuccessfulOutcome(run.outcome) && isOtherVersion && status?.run?.id === run.id;
  const heading = headingOf(run, version, t);
  const about = aboutOf(run, version, t);
  const servers = isSuccessfulOutcome(run.outcome) ? (status?.buildServers ?? []) : [];
  const why = t.sentence(run.cause ?? run.message);
  return {
    kind,
    key: `end ${run.id} ${kind}`,
    ...(run.kind === 'rollback' && { title: t.headingRollback(t.product) }),
    heading,
    about,
    ...(isUpdated && { look: 'ok' }),
    ...(kind === 'broken' && { look: 'bad' }),
    announcement: joinFacts(heading, run.rolledBack ? about : !isUpdated && why),
    isUrgent: !isGood,
    ...((kind === 'failed' || kind === 'broken') && { reportedRun: run }),
    parts: [
      isLagging && createMessageBox('warn', t.latestNotMoved(run.to ?? '')),
      ...(isGood ? [] : causeParts(run, t)),
      { kind: 'warnings', warnings: removeBuildServerWarnings(run.warnings, servers) },
      presentBuildServers(
        servers.filter(({ outdated }) => outdated),
        t,
      ),
      !isSuccessfulOutcome(run.outcome) && run.advice !== null && { kind: 'advice', text: run.advice },
      !isSuccessfulOutcome(run.outcome) &&
        run.log !== null && { kind: 'commands', heading: t.fullLog, lines: [run.log] },
      (kind === 'unchanged' || kind === 'broken') &&
        version !== null &&
        createMutedText(t.nowRunning(version)),
    ],
    actions: resultActions(run, status, version, t),
  };
}

/** False if the target is `canary`, because a tag cannot be compared with a version. */
export const isOtherVersionRunning = ({ to }: Run, version: string | null): boolean =>
  to !== null && to !== 'canary' && version !== null && !isSameVersion(version, to);

function headingOf(run: Run, version: string | null, t: TextsAndFormats): string {
  const { to, cause, code, outcome, rolledBack, cancelRequestedBy: by } = run;
  const isRollback = run.kind === 'rollback';
  switch (resultKindOf(run)) {
    case 'updated':
      if (to === null || isOtherVersionRunning(run, version)) return t.versionIsRunning(version ?? t.product);
      if (to === 'canary') return t.updatedTo(version ?? to);
      return isRollback ? t.rolledBackToVersion(to) : t.updatedTo(to);
    case 'unchanged':
      return t.unchanged;
    case 'cancelled':
      return by === null || by === automaticCaller ? t.cancelled : t.cancelledBy(by);
    case 'failed':
      if (rolledBack && to) return t.versionFailed(to, formatMessageClause(cause ?? ''));
      if (outcome === 'refused') return isRollback ? t.rollbackRefused : t.updateRefused;
      return isRollback ? t.rollbackFailed : t.theUpdateFailed;
    case 'broken':
      if (outcome === 'crashed') return isRollback ? t.rollbackInterrupted : t.updateInterrupted;
      if (code === 'broken' && to !== null) return t.installedUnhealthy(to);
      if (code === 'unhealthy' && version !== null) return t.unhealthy(version);
      return isRollback ? t.rollbackUnsuccessful : t.updateUnsuccessful;
    case 'other-end':
      return formatMessageClause(t.sentence(run.message || (outcome ?? '')));
  }
}

function aboutOf(run: Run, version: string | null, t: TextsAndFormats): string {
  const { rolledBack } = run;
  switch (resultKindOf(run)) {
    case 'updated':
      return formatDowntime(run, t);
    case 'cancelled':
      return run.message === '' ? t.stillRunning(version ?? run.from ?? '') : t.sentence(run.message);
    case 'other-end':
      return version === null ? '' : t.nowRunning(version);
    default:
      if (rolledBack === null) return t.sentence(run.message);
      return t.rolledBackTo(rolledBack.version, t.moment(rolledBack.at));
  }
}

export const formatDowntime = ({ downtimeSeconds }: Run, t: TextsAndFormats): string =>
  downtimeSeconds === null ? '' : t.downtime(t.seconds(downtimeSeconds));

export const formatOutcome = ({ kind, outcome }: Run, t: TextsAndFormats): string =>
  outcome === 'updated' && kind === 'rollback'
    ? t.rolledBack
    : formatCodeText(t.outcomes, outcome ?? '', outcome ?? '');

function causeParts(run: Run, t: TextsAndFormats): (PresentationPart | false)[] {
  const { cause, code, rolledBack, steps, to } = run;
  const isDeep = steps.some(({ state }) => ['write', 'save', 'recreate', 'verify'].includes(state));
  // The heading of a rolled-back update already contains the cause.
  const isInHeading = rolledBack !== null && to !== null;
  return [
    isDeep && { kind: 'phases', phases: presentPhases(run, t) },
    !isInHeading && cause !== null && { kind: 'cause', text: t.sentence(cause), code },
  ];
}

export const createWarningBox = (warnings: readonly string[], t: TextsAndFormats): MessageBox | false =>
  warnings.length > 0 && createMessageBox('warn', t.warnings(warnings.length), warnings);

function resultActions(
  run: Run,
  status: Status | null,
  version: string | null,
  t: TextsAndFormats,
): (UserAction | null)[] {
  const kind = resultKindOf(run);
  const close = (look: 'primary' | 'quiet end') =>
    createButton('close', t.close, { kind: 'dismiss', run }, look);
  if (kind === 'updated')
    return [
      createButton('reload', t.reloadNow, { kind: 'reload' }, 'primary'),
      createPageLink(findReleasePageUrl(status, version), t.releaseNotes),
    ];
  if (isSuccessfulOrCancelledRun(run)) return [close('primary')];
  const report = createButton('report', t.copyReport, { kind: 'report', run });
  if (kind === 'other-end') return [close('primary'), report];
  const order = createRetryRequest(run, status, version);
  const again = createButton('again', t.tryAgain, { kind: 'try-again', run, order }, 'primary');
  const check = createButton(
    'check',
    t.checkAgain,
    { kind: 'try-again', run, order: null },
    order ? undefined : 'primary',
  );
  return [order && again, check, report, close('quiet end')];
}

/** Returns null if the run cannot be repeated. */
function createRetryRequest(
  run: Run,
  status: Status | null,
  version: string | null,
): UpdateRequestBody | null {
  // A rollback is not repeated: the user must confirm it again, with the current restore point.
  if (run.kind === 'rollback') return null;
  // A broken update is completed by another update to the same version.
  const target = resultKindOf(run) === 'broken' ? (run.to ?? version) : run.to;
  if (resultKindOf(run) !== 'broken') {
    if (status === null || status.next?.version !== target) return null;
    if (run.upgradePath.length > 1) return createLatestUpdateRequest(status);
  }
  return target === null ? null : { target };
}

/** Presents a run that was shown earlier but is unknown to the server. */
export function presentUnknownRun(run: Run, version: string | null, t: TextsAndFormats): Presentation {
  return {
    kind: 'run-unknown',
    heading: t.runUnknown(version ?? t.product, t.clock(run.startedAt)),
    about: t.runUnknownAbout,
    isUrgent: true,
    parts: [run.log !== null && { kind: 'commands', heading: t.fullLog, lines: [run.log] }],
    actions: [createButton('close', t.close, { kind: 'dismiss', run }, 'primary')],
  };
}
