import type { Channel } from '../core/release/channel.ts';
import type {
  AutomaticUpdateBlockingCode,
  CancelCode,
  EndState,
  JobKind,
  ReasonCode,
  RehearsalState,
  UpToDateCode,
} from '../wire/codes.ts';
import { unitTexts } from '../wire/texts/times.ts';

/** Text for a code. A function can include the server's message in the text. */
export type CodeText = string | ((message: string) => string);

/** All texts for users, in English. The texts for the server's codes come last. */
export const englishTexts = {
  product: 'svc',
  /** Locale for dates and times. */
  locale: 'en-GB',

  openDialog: (product: string, version: string) => `${product} ${version}, open update dialog`,
  updateTo: (version: string) => `Update to ${version}`,
  securityUpdateTo: (version: string) => `Security update to ${version}`,
  updating: 'Updating…',
  updatingPercent: (percent: number) => `Updating… ${percent} %`,
  /** Progress of an update that is one step of an upgrade path. */
  updatingStep: (step: number, steps: number) => `Updating… ${step} of ${steps}`,
  updateFailed: 'Update failed',
  rollingBack: 'Rolling back…',
  rollingBackPercent: (percent: number) => `Rolling back… ${percent} %`,
  rollbackFailed: 'Rollback failed',
  reloadFor: (version: string) => `Reload for ${version}`,
  queuedJobsFinished: (count: number) =>
    count === 1 ? '1 queued job has finished' : `${count} queued jobs have finished`,
  queuedJobsRunning: (count: number) =>
    count === 1 ? '1 queued job is now running' : `${count} queued jobs are now running`,
  downtime: (time: string) => `${time} downtime`,
  /** `day` is empty if the update was today. */
  updatedAutomatically: (product: string, day: string, time: string) =>
    day === ''
      ? `${product} was updated automatically at ${time}`
      : `${product} was updated automatically on ${day} at ${time}`,

  titlePercent: (percent: number, product: string) => `${percent} % – ${product}`,
  titleUpdating: (product: string) => `Updating – ${product}`,
  titleRollback: (product: string) => `Rolling back – ${product}`,
  titleUnavailable: (time: string, product: string) => `unavailable ${time} – ${product}`,
  titleUpdated: (version: string, product: string) => `✓ ${version} – ${product}`,
  titleFailed: (product: string) => `Update failed – ${product}`,
  titleRollbackFailed: (product: string) => `Rollback failed – ${product}`,

  heading: (product: string) => `Update ${product}`,
  headingUpdating: (product: string) => `Updating ${product}`,
  headingRollback: (product: string) => `Roll back ${product}`,
  headingRollingBack: (product: string) => `Rolling back ${product}`,
  unknownVersion: 'Unknown version',
  close: 'Close',
  closeDuringUpdate: 'Close dialog (the update continues)',
  closeDuringRollback: 'Close dialog (the rollback continues)',
  cancel: 'Cancel',
  back: 'Back',
  copy: 'Copy',
  copied: 'Copied',
  selected: 'Press Ctrl+C to copy the selected text',
  copyReport: 'Copy report',
  downloadReport: 'Download report',
  report: 'Report',
  command: 'Command',
  checkAgain: 'Check again',
  checking: 'Checking…',
  reload: 'Reload',
  reloadNow: 'Reload now',
  tryAgain: 'Try again',
  updateNow: 'Update now',
  newSettings: 'This release has new settings.',
  requiredSetting: (name: string) => `${name} (required)`,
  valueMissing: (name: string) => `Enter a value for ${name}.`,
  updateWhenIdle: 'Update when idle',
  updateAnyway: 'Update anyway…',
  interruptAndUpdate: 'Interrupt jobs and update',
  releaseNotes: 'Release notes',
  showAll: 'Show all',
  next: 'Next:',
  startedAgo: (time: string) => `Started ${time} ago`,
  onTheServer: 'On the server:',
  fullLog: 'Full log, on the server:',

  connecting: (product: string) => `Connecting to ${product}…`,
  connectingAbout: 'Checking the running version and available updates.',
  adminsOnly: (product: string) => `Only admins can update ${product}`,
  youAreRunning: (version: string) => `You are running ${version}`,
  loggedOut: 'You are not logged in',
  loggedOutAbout: 'Log in and reload this page. If an update is in progress, it continues.',
  otherPage: 'This address now shows a different page, possibly a login page',
  otherPageDuringUpdate: 'The update continues on the server.',
  otherPageAbout: 'Reload this page to continue.',
  noAnswer: (product: string) => `No response from ${product}`,
  noAnswerFor: (time: string) => `No response for ${time}. Check your connection.`,
  noAnswerDuringUpdate: (time: string) =>
    `No response for ${time}. Check your connection. The update continues on the server.`,
  restarting: (product: string) => `${product} is restarting…`,
  restartingAbout: (product: string) => `Waiting for ${product}. This page reconnects automatically.`,
  startingUpdate: 'Starting the update…',
  startingRollback: 'Starting the rollback…',
  notStarted: 'Nothing was started',
  connectionLost: 'The server sent no usable response. Reload the page, then try again.',
  httpStatus: (status: number) => `HTTP status ${status}`,
  runUnknown: (version: string, time: string) =>
    `The server (${version}) has no record of the update that started at ${time}`,
  runUnknownAbout: 'The update log is on the server.',

  startedBy: (by: string, time: string) => `Started by ${by} at ${time}`,
  startedAt: (time: string) => `Started at ${time}`,
  startedAutomatically: (time: string) => `Started automatically at ${time}`,
  canBeClosed: 'you can close this dialog at any time',
  waitingForJobs: (count: number) => (count === 1 ? 'Waiting for 1 job' : `Waiting for ${count} jobs`),
  nothingChangedYet: 'Nothing has been changed yet',
  cannotCancel: 'The update can no longer be cancelled.',
  cannotCancelRollback: 'The rollback can no longer be cancelled.',
  copyingData: (product: string) => `Copying data; ${product} is still available.`,
  stepOf: (step: number, steps: number) => `${step} of ${steps}`,
  notReady: (product: string, version: string) =>
    `${product} ${version} is not ready for the next update yet`,
  readyDeadline: (product: string, to: string, time: string) =>
    `If ${product} is not ready by ${time}, the update to ${to} will not start.`,
  nextStartsSoon: (to: string) => `The update to ${to} will start shortly.`,

  versionIsRunning: (version: string) => `${version} is running`,
  latestNotMoved: (version: string) => `The image tag “latest” does not point to ${version} yet.`,
  reloading: 'Reloading this page…',
  unchanged: 'No changes were needed',
  theUpdateFailed: 'The update failed',
  updateRefused: 'The update was refused',
  updateInterrupted: 'The update was interrupted',
  updateUnsuccessful: 'The update did not succeed',
  rollbackRefused: 'The rollback was refused',
  rollbackInterrupted: 'The rollback was interrupted',
  rollbackUnsuccessful: 'The rollback did not succeed',
  /** `cause` is empty if the cause is unknown. */
  versionFailed: (version: string, cause: string) =>
    cause === '' ? `${version} failed` : `${version} failed: ${cause}`,
  rolledBackTo: (version: string, time: string) =>
    `Rolled back to ${version} with the data saved at ${time}.`,
  cancelled: 'Cancelled',
  cancelledBy: (by: string) => `Cancelled by ${by}`,
  stillRunning: (version: string) => `Nothing was changed; ${version} is still running.`,
  installedUnhealthy: (version: string) => `${version} was installed but is unhealthy`,
  unhealthy: (version: string) => `${version} is running but unhealthy`,
  nowRunning: (version: string) => `${version} is now running.`,
  warnings: (count: number) => (count === 1 ? 'Warning' : `${count} warnings`),

  moreAbout: 'More information',
  noUpdateAvailable: 'No update is available',
  available: (version: string) => `${version} is available`,
  publishedAgo: (time: string) => `published ${time} ago`,
  majorVersion: 'new major version',
  majorWarning: 'This is a major version. Migrations cannot be undone.',
  howToBackUp: 'How to back up the data',
  intermediateRelease: (version: string, first: string) => `${first} must be installed before ${version}`,
  intermediateReleaseAbout: (version: string, first: string) =>
    `Update to ${first} first, then to ${version}.`,
  upgradePathAbout: (product: string, count: number) =>
    `${count} updates are required. ${product} will be unavailable during each update.`,
  unavailableBriefly: (product: string) => `${product} will be unavailable, probably for less than a minute.`,
  unavailableAsLast: (product: string, time: string) =>
    `${product} will be unavailable for about ${time} (based on the last update).`,
  tryOnCopy: 'Try on a copy',
  tryOnCopyAbout: (product: string) =>
    `“Try on a copy” changes nothing, but suspends ${product} for up to 30 seconds.`,
  cancelRehearsal: 'Cancel rehearsal',
  rehearsedAgo: (time: string) => `Rehearsed ${time} ago.`,
  unavailableAsRehearsed: (product: string, time: string) =>
    `${product} will be unavailable for at least ${time} (based on the rehearsal).`,
  skipThis: 'Skip this version',
  offerAgain: 'Offer again',
  /** `time` says how long ago the release was skipped. It is empty if this is unknown. */
  youSkipped: (version: string, time: string) =>
    time === '' ? `You skipped ${version}.` : `You skipped ${version} ${time} ago.`,
  estimatedDurationAndDowntime: (time: string, downtime: string) =>
    `The update takes about ${time}, with about ${downtime} of downtime.`,
  /** `day` is `tonight`, `today`, `tomorrow` or, for example, `on 14 March`. */
  installedAutomatically: (version: string, day: string, time: string) =>
    `${version} will be installed automatically ${day} after ${time}.`,
  installedAutomaticallySoon: (version: string) =>
    `${version} will be installed automatically as soon as nothing is blocking the update.`,
  /** `day` is `today` or, for example, `on 14 March`. */
  automaticPaused: (day: string) => `Automatic updates are paused because an update failed ${day}.`,
  automaticResumes: 'Automatic updates resume after a manual update succeeds.',
  tonight: 'tonight',
  today: 'today',
  tomorrow: 'tomorrow',
  onDay: (day: string) => `on ${day}`,
  jobsRunning: (count: number) => (count === 1 ? '1 job is running' : `${count} jobs are running`),
  jobsQueued: (count: number) => (count === 1 ? '1 job is queued' : `${count} jobs are queued`),
  stuckFor: (time: string) => `${time}, stuck`,
  canWaitForJobs: (product: string) =>
    `${product} can wait until these jobs have finished and then update automatically. New jobs stay queued and run afterwards.`,
  stuckJobs:
    'Stuck jobs do not finish on their own. Cancel them, or choose “Update anyway” to interrupt all jobs.',
  willBeInterrupted: 'These jobs will be interrupted:',
  cannotUpdate: (product: string) => `${product} cannot be updated from this page`,
  manualCommands: 'On the server, run this in the directory that contains the compose file:',
  otherUpdateInProgress: 'Another update is in progress',

  rollBackToVersion: (version: string) => `Roll back to ${version}…`,
  rollBack: 'Roll back…',
  rollBackTo: (version: string) => `Roll back to ${version}`,
  checkingRestorePoint: 'Checking the restore point…',
  checkingRestorePointAbout: (version: string) =>
    `Checking the saved data of ${version}. This may take a few minutes.`,
  restorePointOf: (version: string, time: string) => `${version} with the data from ${time}`,
  cannotRollBack: (product: string, version: string) => `${product} cannot be rolled back to ${version} now`,

  currentChannel: (channel: string) => `Channel: ${channel}`,
  lastUpdate: (date: string, versions: string) => `last update ${date}, ${versions}`,
  pastUpdates: 'Past updates',
  noUpdates: 'No updates have been installed yet.',
  changeChannel: 'Change the channel',
  todayAt: (time: string) => `today ${time}`,
  dateColumn: 'Date',
  versionsColumn: 'Versions',
  outcomeColumn: 'Result',
  downtimeColumn: 'Downtime',
  startedByColumn: 'Started by',
  startedManually: 'manual',
  automatically: 'automatic',
  serversOutdated: (count: number) =>
    count === 1 ? '1 build server is outdated' : `${count} build servers are outdated`,
  serverVersion: (name: string, version: string) => `${name} is running ${version}`,

  channel: 'Release channel',
  save: 'Save',
  saving: 'Saving…',
  saved: (channel: string) => `Saved: the channel is ${channel}.`,
  notSaved: (why: string) => `Not saved: ${why}`,
  channelUnchanged: (channel: string) => `The channel is still ${channel}.`,
  noAnswerSaving: (product: string) => `No response from ${product}.`,
  automatic: 'Automatic updates',
  automaticEnabled: 'Install updates automatically',
  automaticEnabledAbout:
    'New releases are installed during a time window, unless something is blocking the update.',
  windowFrom: 'From',
  windowTo: 'To',
  timeZone: 'Time zone',
  days: 'Days (every day if none are selected)',
  /** Label of a number field. `{days}` is the position of the field in the sentence. */
  minimumAge: 'Wait until a release is {days} days old',
  includeMajors: 'Include major versions',
  rehearseFirst: 'Try each release on a copy of the data, and do not install it if it fails',
  nextAutomatic: (day: string, time: string, zone: string) =>
    `The next automatic update can start ${day} after ${time} (${zone}).`,
  nextAutomaticSoon: 'The next automatic update starts as soon as nothing is blocking it.',
  unsavedChanges: 'You have unsaved changes.',

  dataSaved: (product: string, to: string, from: string) =>
    `Data is saved first. If ${to} fails, ${product} rolls back to ${from} and restores the data.`,
  allUnavailable: (product: string) => `${product} will be unavailable while the last changes are copied.`,
  allUnavailableAbout: (product: string, time: string) =>
    `${product} will be unavailable for about ${time} (a guess).`,
  estimatedDuration: (time: string) => `The update takes about ${time}.`,
  downloading: (percent: number | null) =>
    percent === null
      ? 'Downloading in the background. You can update at any time.'
      : `Downloading in the background, ${percent} %. You can update at any time.`,
  alreadyDownloaded: 'Already downloaded.',
  nextAttempt: (time: string) => `Next attempt in ${time}.`,
  checkedAgo: (time: string) => `Checked ${time} ago.`,
  lastCheckFailed: 'The last check failed',
  recalled: (version: string) => `${version} was recalled`,
  noWayBack:
    'No newer release is available, and this version cannot be rolled back because there is no restore point. Install the next release as soon as it is published.',
  securityUpdate: 'Security update',
  affected: (below: string) => `All versions before ${below} are affected.`,
  staleSince: (time: string) => `Release information has been out of date since ${time}`,
  backUpFirst: 'Back up your data first.',
  willBeReplaced: (time: string) => `All changes since ${time} will be discarded.`,
  currentSaved: 'The current data is saved first.',
  newJobsQueued: 'New jobs stay queued.',
  waitingUntil: (time: string) => `Waiting until ${time} at the latest. New jobs stay queued.`,
  cancelRequested: (by: string) => `${by} requested cancellation, but it may be too late.`,
  notInstalledAutomatically: (why: string) => `Not installed automatically: ${why}`,
  automaticOff: 'Automatic updates are off.',
  updatedTo: (version: string) => `Updated to ${version}`,
  rolledBackToVersion: (version: string) => `Rolled back to ${version}`,
  queued: 'queued',
  stuck: 'stuck',
  upgradePath: 'Upgrade path',

  // Texts by code. For a code without a text, the server's message is shown.
  reasons: {} as Partial<Record<ReasonCode, CodeText>>,
  upToDate: {} as Partial<Record<UpToDateCode, CodeText>>,
  blockedBy: {} as Partial<Record<AutomaticUpdateBlockingCode, CodeText>>,
  /** States of a rehearsal. The functions receive the version. */
  rehearsals: {
    running: (version) => `Rehearsing ${version} on a copy of the data…`,
    succeeded: (version) => `The rehearsal of ${version} succeeded`,
    failed: (version) => `The rehearsal of ${version} failed`,
    inconclusive: (version) => `The rehearsal of ${version} had no result`,
    cancelled: (version) => `The rehearsal of ${version} was cancelled`,
  } as Partial<Record<RehearsalState, CodeText>>,
  cancelRefusals: {} as Partial<Record<CancelCode, CodeText>>,
  /** Outcome of a successful rollback in the list of past updates. */
  rolledBack: 'rolled back',
  /** Outcomes in the list of past updates. */
  outcomes: {
    updated: 'updated',
    unchanged: 'unchanged',
    refused: 'refused',
    failed: 'failed',
    broken: 'broken',
    cancelled: 'cancelled',
    crashed: 'interrupted',
  } satisfies Record<EndState, string>,
  /** Names of the phases, keyed by the ids in `phaseRows`. */
  phases: {
    waiting: 'Waiting',
    preparing: 'Preparing',
    prepared: 'Prepared',
    checking: 'Checking',
    checked: 'Checked',
    pulling: 'Downloading',
    pulled: 'Downloaded',
    saving: 'Saving data',
    saved: 'Data saved',
    replacing: 'Replacing',
    replaced: 'Replaced',
    verifying: 'Verifying',
    verified: 'Verified',
  },
  /** Names of phases that have not started or were not completed. */
  toDo: {
    waiting: 'Wait',
    preparing: 'Prepare',
    checking: 'Check',
    pulling: 'Download',
    saving: 'Save data',
    replacing: 'Replace',
    verifying: 'Verify',
  },
  jobKinds: {
    deployment: 'deployment',
    backup: 'backup',
    cron: 'cron job',
    cleanup: 'cleanup',
    job: 'job',
  } satisfies Record<JobKind, string>,
  channels: {
    stable: {
      name: 'stable',
      about: 'Stable releases with release notes. Recommended for most installations.',
    },
    canary: {
      name: 'canary',
      about:
        'Every change as soon as it is built, days or weeks before its stable release and with less testing. If you leave canary, your version stays installed until a newer stable release is available.',
    },
  } satisfies Record<Channel, { name: string; about: string }>,
  /** Formats of durations: `3 s`, `2 min`, `5 h`, `3 days`. */
  units: unitTexts,
};

export type Texts = typeof englishTexts;
