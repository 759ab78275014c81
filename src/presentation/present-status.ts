import type { UpdateRequestBody } from '../wire/api-client/update-api-client.ts';
import { findRollbackableRun } from '../wire/derived/rollbackable-run.ts';
import type { BlockingJob, FeedProblem, Reason, Rehearsal, Run, Status } from '../wire/status.ts';
import { formatAutomaticUpdate, formatBlockedReason } from './present-automatic.ts';
import { presentPreviousFailure } from './present-previous-failure.ts';
import {
  type ButtonPresentation,
  createButton,
  createMessageBox,
  createMutedText,
  createPageLink,
  type JobPresentation,
  type MessageBox,
  type PageLink,
  type Presentation,
  type PresentationPart,
} from './presentation-parts.ts';
import { formatCodeText, joinFacts, joinSentences, type TextsAndFormats } from './texts-and-formats.ts';

/** Data that a presentation needs in addition to the status. */
export interface StatusContext {
  /** Newest first; null until the past runs are loaded. */
  history: readonly Run[] | null;
  isChecking?: boolean;
  /** URL of the application's page about backups. */
  backupPage?: string | null;
}

/** Presents the available update, or the reason why no update is available. Used if there is no run to show. */
export function presentStatus(status: Status, context: StatusContext, t: TextsAndFormats): Presentation {
  const { next, reason } = status;
  const shown =
    next === null
      ? presentUpToDate(status, context, t)
      : ((reason && presentBlockingReason(reason, status, context, t)) ??
        presentAvailableUpdate(status, context, t));
  const notices = presentStatusNotices(status, t);
  return {
    ...shown,
    announcement: joinFacts(...notices.map(({ heading }) => heading), shown.announcement ?? shown.heading),
    parts: [...notices, ...shown.parts],
  };
}

/** Presents the publisher's notices about the running version, and any error from the last check for releases. */
export function presentStatusNotices(status: Status, t: TextsAndFormats): MessageBox[] {
  const { version, recalled, urgent, feedError } = status;
  return [
    recalled &&
      createMessageBox('bad', t.recalled(version), [t.sentence(recalled.why)], {
        link: createPageLink(recalled.url, t.moreAbout),
      }),
    urgent &&
      createMessageBox('warn', t.securityUpdate, [
        joinSentences(t.sentence(urgent.why), t.affected(urgent.below)),
      ]),
    feedError && feedErrorBox(feedError, t),
  ].filter((notice) => !!notice);
}

export function presentUpToDate(status: Status, context: StatusContext, t: TextsAndFormats): Presentation {
  const { upToDate, version, channel, checkedAt, automatic, recalled } = status;
  const why = upToDate ? formatCodeText(t.upToDate, upToDate.code, upToDate.message) : t.noUpdateAvailable;
  const checked = t.age(checkedAt);
  const rollback = recalled && context.history && findRollbackableRun(context.history);
  const isStuck = recalled !== null && context.history !== null && rollback === null;
  return {
    kind: 'nothing',
    heading: t.versionIsRunning(version),
    about: t.channelName(channel),
    announcement: why,
    parts: [
      { kind: 'text', text: joinSentences(t.sentence(why), checked && t.checkedAgo(checked)) },
      createMutedText(automatic && formatBlockedReason(automatic, t)),
      isStuck && { kind: 'text', text: t.noWayBack },
    ],
    actions: [
      rollback && createRollbackButton(rollback.restorePoint.version, t, 'primary'),
      createCheckButton(context, t, rollback ? 'quiet' : 'primary'),
    ],
  };
}

function feedErrorBox({ staleSince, message, nextCheckAt }: FeedProblem, t: TextsAndFormats): MessageBox {
  const why = t.sentence(message);
  if (staleSince) return createMessageBox('warn', t.staleSince(t.date(staleSince)), [why]);
  const wait = -(t.passed(nextCheckAt) ?? 0);
  return createMessageBox('warn', t.lastCheckFailed, [
    joinSentences(why, wait > 0 && t.nextAttempt(t.duration(wait))),
  ]);
}

export const createRollbackButton = (to: string, t: TextsAndFormats, look?: 'primary') =>
  createButton('rollback', t.rollBackToVersion(to), { kind: 'check-rollback', to }, look);

export const createCheckButton = (
  { isChecking }: Pick<StatusContext, 'isChecking'>,
  t: TextsAndFormats,
  look: ButtonPresentation['look'] = 'primary',
) =>
  createButton('check', isChecking ? t.checking : t.checkAgain, isChecking ? null : { kind: 'check' }, look);

export function presentAvailableUpdate(
  status: Status,
  context: StatusContext,
  t: TextsAndFormats,
): Presentation {
  const { version, next, latest, releases = [], skipped } = status;
  const to = next?.version ?? '';
  const path = upgradePathOf(status);
  const goal = path.at(-1) ?? to;
  const later = latest !== null && latest.version !== goal ? latest.version : null;
  const shown = later ?? goal;
  const release = [...releases, ...(latest ? [latest] : [])].find((one) => one.version === goal);
  const isMajor = next?.major || (path.length > 0 && majorOf(goal) !== majorOf(version));
  const published = t.age(release?.publishedAt);
  const notes = createPageLink(release?.url, t.releaseNotes);
  const check = createCheckButton(context, t, 'quiet');
  const update: Presentation = {
    kind: 'available',
    heading: t.available(shown),
    highlight: shown,
    about: joinFacts(
      t.youAreRunning(version),
      isMajor ? t.majorVersion : t.channelName(status.channel),
      published && t.publishedAgo(published),
    ),
    parts: [createMutedText(t.youSkipped(shown, t.age(skipped?.since)))],
    actions: [createButton('unskip', t.offerAgain, { kind: 'skip', version: null }, 'primary'), check, notes],
  };
  if (skipped) return update;
  const preparation = preparationText(status, to, t);
  const backup: PageLink | null = context.backupPage
    ? { url: context.backupPage, label: t.howToBackUp, isOwn: true }
    : null;
  const downtime = context.history?.find(
    (run) => run.outcome === 'updated' && run.downtimeSeconds !== null && run.kind !== 'rollback',
  )?.downtimeSeconds;
  return {
    ...update,
    parts: [
      path.length > 0 && { kind: 'path', versions: [version, ...path], done: 1, isRunning: false },
      path.length > 0 && createMutedText(t.upgradePathAbout(t.product, path.length)),
      later &&
        createMessageBox('warn', t.intermediateRelease(later, to), [t.intermediateReleaseAbout(later, to)]),
      isMajor &&
        createMessageBox(
          'warn',
          t.majorWarning,
          [preparation || t.backUpFirst],
          preparation === '' ? { link: backup } : {},
        ),
      presentPreviousFailure(context.history, goal, t),
      createRehearsalBox(status, t),
      { kind: 'notes', releases: releases.filter((one) => one.notes?.trim()) },
      { kind: 'settings', settings: next?.settings ?? [] },
      createMutedText(
        joinSentences(
          !isMajor && preparation,
          formatDownloadState(status, t),
          path.length === 0 && durationText(status, downtime ?? null, t),
        ),
      ),
      createMutedText(formatAutomaticUpdate(status, t)),
      createMutedText(t.tryOnCopyAbout(t.product)),
    ],
    actions: [
      createButton(
        'start',
        later === null && path.length === 0 ? t.updateNow : t.updateTo(goal),
        { kind: 'start', order: createLatestUpdateRequest(status) },
        'primary',
      ),
      createRehearsalButton(status, t),
      // A required intermediate release cannot be skipped.
      later === null && createButton('skip', t.skipThis, { kind: 'skip', version: goal }, 'quiet'),
      check,
      notes,
    ],
  };
}

/** Describes a running rehearsal, or the result of the last one. */
export function presentRehearsal(
  { version, state, startedAt, endedAt, message, advice, log }: Rehearsal,
  t: TextsAndFormats,
): MessageBox {
  const [begun, ended] = [t.age(startedAt), t.age(endedAt)];
  return createMessageBox(
    state === 'failed' ? 'bad' : state === 'inconclusive' ? 'warn' : '',
    formatCodeText(t.rehearsals, state, version),
    [
      t.sentence(message),
      advice,
      ended === '' ? begun && `${t.startedAgo(begun)}.` : t.rehearsedAgo(ended),
      advice && log && `${t.fullLog} ${log}`,
    ],
  );
}

/** The rehearsal to show beside the available update: a running one, or the result for this version. */
const findShownRehearsal = ({ rehearsal, next }: Status): Rehearsal | null =>
  rehearsal?.state === 'running' || rehearsal?.version === next?.version ? rehearsal : null;

const createRehearsalBox = (status: Status, t: TextsAndFormats): MessageBox | null => {
  const rehearsal = findShownRehearsal(status);
  return rehearsal && presentRehearsal(rehearsal, t);
};

const createRehearsalButton = ({ rehearsal, next }: Status, t: TextsAndFormats) =>
  rehearsal?.state === 'running'
    ? createButton('cancel-rehearsal', t.cancelRehearsal, { kind: 'cancel-rehearsal' })
    : createButton('rehearse', t.tryOnCopy, { kind: 'rehearse', order: { target: next?.version ?? '' } });

const majorOf = (version: string): string | undefined => /\d+/.exec(version)?.[0];

/** The result is empty unless several updates are required to install the latest release. */
function upgradePathOf({ next, latest }: Status): readonly string[] {
  const { upgradePath = [] } = next ?? {};
  return upgradePath.length > 1 && upgradePath.at(-1) === latest?.version ? upgradePath : [];
}

/** Requests all steps of the upgrade path, if there is one. */
export function createLatestUpdateRequest(status: Status): UpdateRequestBody {
  const last = upgradePathOf(status).at(-1);
  return last === undefined ? { target: status.next?.version ?? '' } : { target: last, allSteps: true };
}

/** Text about the application's preparation for an update, and the restore point; empty if there is neither. */
const preparationText = (status: Status, to: string, t: TextsAndFormats): string =>
  joinSentences(
    status.preparation && t.sentence(status.preparation),
    formatRestorePointNotice(status, to, t),
  );

/** Announces the downtime and the restore point. Returns an empty text if no restore point is saved. */
export const formatRestorePointNotice = (
  { restorePoint, version }: Status,
  to: string,
  t: TextsAndFormats,
): string =>
  restorePoint === null
    ? ''
    : `${t.dataSaved(t.product, to, version)} ${formatDataSavingDowntime(restorePoint.downtimeSeconds, t)}`;

/** @param last - downtime in seconds while the previous restore point was saved; null if unknown */
export const formatDataSavingDowntime = (last: number | null, t: TextsAndFormats): string => {
  return last === null ? t.allUnavailable(t.product) : t.unavailableAsLast(t.product, t.seconds(last));
};

function formatDownloadState({ next, prefetch }: Status, t: TextsAndFormats): string | false {
  if (next?.downloaded) return t.alreadyDownloaded;
  return prefetch?.state === 'downloading' && t.downloading(prefetch.percent);
}

function durationText(status: Status, downtime: number | null, t: TextsAndFormats): string {
  const { next, restorePoint } = status;
  const seconds = next?.estimatedSeconds ?? null;
  if (seconds !== null && seconds < 60 && downtime !== null && restorePoint === null)
    return t.estimatedDurationAndDowntime(t.seconds(seconds), t.seconds(Math.max(1, downtime)));
  return joinSentences(
    seconds !== null && t.estimatedDuration(t.seconds(seconds)),
    restorePoint === null && downtimeText(status, downtime, t),
  );
}

function downtimeText(status: Status, last: number | null, t: TextsAndFormats): string {
  const readySeconds = findShownRehearsal(status)?.readySeconds;
  if (readySeconds) return t.unavailableAsRehearsed(t.product, t.seconds(readySeconds));
  return last === null ? t.unavailableBriefly(t.product) : t.unavailableAsLast(t.product, t.seconds(last));
}

/** Reasons caused by the server's deployment. They are shown with the commands for a manual update. */
const deploymentCodes: readonly string[] = ['swarm', 'no-engine', 'no-directory', 'store-unavailable'];
/** Reasons that do not hide the available update. */
const passedCodes: readonly string[] = [
  'up-to-date',
  'unproven',
  'recalled',
  'settings-missing',
  'no-restore-point',
  'rollback-refused',
];

/** Returns null for a reason that does not hide the available update. */
export function presentBlockingReason(
  reason: Reason,
  status: Status,
  context: StatusContext,
  t: TextsAndFormats,
): Presentation | null {
  const { code, message, jobs = [], since } = reason;
  if (passedCodes.includes(code)) return null;
  if (jobs.length > 0) return presentJobs(jobs, status, context, t);
  const why = t.sentence(formatCodeText(t.reasons, code, message));
  if (code === 'update-running') {
    const age = t.age(since);
    return {
      kind: 'other-update',
      heading: t.otherUpdateInProgress,
      about: age && t.startedAgo(age),
      announcement: `${t.otherUpdateInProgress}. ${why}`,
      ticks: age !== '',
      parts: [{ kind: 'text', text: why }],
      actions: [createCheckButton(context, t)],
    };
  }
  const available = presentAvailableUpdate(status, context, t);
  const heading = t.cannotUpdate(t.product);
  const manual = deploymentCodes.includes(code) ? status.manual : [];
  return {
    ...available,
    kind: 'not-possible',
    announcement: `${heading}. ${why}`,
    parts: [
      createMessageBox('warn', heading, [why]),
      { kind: 'commands', heading: t.manualCommands, lines: manual },
      ...available.parts.filter((part) => part && ['box', 'notes', 'path'].includes(part.kind)),
    ],
    actions: [
      createCheckButton(context, t),
      ...available.actions.filter((action) => action && 'url' in action),
    ],
  };
}

function presentJobs(
  jobs: readonly BlockingJob[],
  status: Status,
  context: StatusContext,
  t: TextsAndFormats,
): Presentation {
  const order = createLatestUpdateRequest(status);
  const isStuck = jobs.some(({ stuck }) => stuck);
  const list: PresentationPart = { kind: 'jobs', jobs: jobs.map((job) => presentJob(job, t)) };
  const interrupted = formatRunningJobs(jobs, t);
  const queued = jobs.filter(({ state }) => state === 'queued').length;
  const running = jobs.length - queued;
  return {
    kind: 'jobs',
    heading: joinFacts(running > 0 && t.jobsRunning(running), queued > 0 && t.jobsQueued(queued)),
    about: t.versions(status.version, order.target),
    ticks: true,
    parts: [
      list,
      createRehearsalBox(status, t),
      { kind: 'settings', settings: status.next?.settings ?? [] },
      createMutedText(isStuck ? t.stuckJobs : t.canWaitForJobs(t.product)),
    ],
    actions: [
      !isStuck &&
        createButton(
          'idle',
          t.updateWhenIdle,
          { kind: 'start', order: { ...order, when: 'idle' } },
          'primary',
        ),
      createCheckButton(context, t, isStuck ? 'primary' : 'quiet'),
      createRehearsalButton(status, t),
      createButton('anyway', t.updateAnyway, { kind: 'confirm', isConfirming: true }, 'quiet danger end'),
    ],
    confirmation: {
      announcement: `${t.willBeInterrupted} ${interrupted.join(', ')}`,
      parts: [list, createMessageBox('bad', t.willBeInterrupted, interrupted)],
      actions: [
        createButton('back', t.back, { kind: 'confirm', isConfirming: false }),
        createButton(
          'force',
          t.interruptAndUpdate,
          { kind: 'start', order: { ...order, force: true } },
          'quiet danger end',
        ),
      ],
    },
  };
}

export function presentJob(
  { kind, title, since, state, stuck }: BlockingJob,
  t: TextsAndFormats,
): JobPresentation {
  const age = t.age(since);
  const time = stuck ? (age === '' ? t.stuck : t.stuckFor(age)) : state === 'queued' ? t.queued : age;
  return { kind: formatCodeText(t.jobKinds, kind, kind), title: title ?? '', time, isStuck: stuck };
}

/** Omits queued jobs, because they run after the update. Jobs in unknown states count as running. */
export const formatRunningJobs = (jobs: readonly BlockingJob[], t: TextsAndFormats): string[] =>
  jobs
    .filter(({ state }) => state !== 'queued')
    .map((job) => {
      const { kind, title } = presentJob(job, t);
      return title === '' ? kind : `${kind} ${title}`;
    });

export const presentBuildServers = (
  servers: Status['buildServers'],
  t: TextsAndFormats,
): PresentationPart | false =>
  servers.length > 0 && { kind: 'servers', heading: t.serversOutdated(servers.length), servers };
