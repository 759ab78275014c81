import type { Channel } from '../release/channel.ts';
import type { CancelCode, EndState, JobKind, ReasonCode, UpToDateCode } from '../wire/codes.ts';
import type { Unit } from './model/ages.ts';

/** A text, or what makes it of the server's own sentence. */
type Said = string | ((said: string) => string);

/** The words of the phases as `phaseRows` has them. */
type PhaseName =
  | 'waiting'
  | 'preparing'
  | 'prepared'
  | 'checking'
  | 'checked'
  | 'pulling'
  | 'pulled'
  | 'replacing'
  | 'replaced'
  | 'verifying'
  | 'verified';

/**
 * Everything that a person reads, keyed by code where the server has codes. A code that is in no list here is a newer
 * server's, and shown in its own sentence.
 */
export interface Texts extends SingleTexts {
  reasons: Record<ReasonCode, Said>;
  upToDate: Record<UpToDateCode, Said>;
  cancelRefusals: Record<CancelCode, Said>;
  /** How a run ended, in a list. */
  outcomes: Record<EndState, string>;
  phases: Record<PhaseName, string>;
  /** The same as things to do, of what has not begun or has not been done. */
  toDo: Record<PhaseName, string>;
  jobKinds: Record<JobKind, string>;
  channels: Record<Channel, { name: string; about: string }>;
  /** `3 s`, `2 min`, `5 h`, `3 days`. */
  units: Record<Unit, (count: number) => string>;
}

type SingleTexts = typeof single;

const several = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;

/** Texts without a code. `svc` in them is `product`. */
const single = {
  /** What the platform is called. */
  product: 'svc',
  /** Of dates and times. */
  locale: 'en-GB',

  openDialog: (product: string, version: string) => `${product} ${version}, open update dialog`,
  updateTo: (version: string) => `Update to ${version}`,
  updating: 'Updating…',
  updatingPercent: (percent: number) => `Updating… ${percent} %`,
  updateFailed: 'Update failed',
  reloadFor: (version: string) => `Reload for ${version}`,
  whatIsNew: 'What is new',
  jobsHaveRun: (count: number) => (count === 1 ? '1 waiting job has run' : `${count} waiting jobs have run`),
  jobsRun: (count: number) => (count === 1 ? '1 waiting job runs now' : `${count} waiting jobs run now`),
  awayFor: (time: string) => `away for ${time}`,

  titlePercent: (percent: number, product: string) => `${percent} % – ${product}`,
  titleUpdating: (product: string) => `Updating – ${product}`,
  titleAway: (time: string, product: string) => `away ${time} – ${product}`,
  titleUpdated: (version: string, product: string) => `✓ ${version} – ${product}`,
  titleEnded: (product: string) => `Update failed – ${product}`,

  heading: (product: string) => `Update ${product}`,
  headingOn: (product: string) => `Updating ${product}`,
  close: 'Close',
  closeOn: 'Close, the update goes on',
  cancel: 'Cancel',
  back: 'Back',
  copy: 'Copy',
  copied: 'Copied',
  selected: 'Selected: press Ctrl+C',
  copyReport: 'Copy report',
  report: 'Report',
  command: 'Command',
  checkAgain: 'Check again',
  checking: 'Checking…',
  reload: 'Reload',
  reloadNow: 'Reload now',
  tryAgain: 'Try again',
  checkItAgain: 'Check it again',
  updateNow: 'Update now',
  updateWhenIdle: 'Update when idle',
  updateAnyway: 'Update anyway…',
  cutShort: 'Cut short and update',
  releaseNotes: 'Release notes',
  showAll: 'Show all',
  next: 'Next:',
  ago: (time: string) => `${time} ago`,
  onTheMachine: 'On the machine:',

  asking: (product: string) => `Asking ${product}…`,
  askingAbout: 'What runs, and what is newer.',
  usersOnly: 'Only an admin can update',
  youRun: (version: string) => `You run ${version}`,
  loggedOut: 'You are logged out',
  loggedOutOn: 'The update goes on; log in to see it.',
  loggedOutElse: 'Log in to see what is new.',
  otherPage: 'Another page answers at this address, perhaps a log-in',
  otherPageOn: 'The update goes on by itself.',
  otherPageElse: 'Reload to see it.',
  noAnswer: (product: string) => `${product} does not answer`,
  noAnswerFor: (time: string) => `For ${time}. It may be your connection.`,
  noAnswerOn: 'An update goes on by itself.',
  restarting: (product: string) => `${product} is restarting`,
  restartingFor: (product: string) => `Waiting for ${product}`,
  restartingAbout: 'This page comes back by itself. Nothing is lost: jobs wait, the database is not touched.',
  starting: (product: string) => `Asking ${product} to start…`,
  notStarted: 'The update was not started',
  notStartedLost: 'The answer was lost on the way, and no update is on.',
  status: (status: number) => `status ${status}`,
  runUnknown: (version: string, time: string) =>
    `${version} answers and knows nothing of the update begun at ${time}`,
  runUnknownAbout: 'Its log is on the machine.',

  startedBy: (by: string, time: string) => `Started by ${by} at ${time}`,
  startedAt: (time: string) => `Started at ${time}`,
  closingIsHarmless: 'closing this does not stop it',
  waitsFor: (count: number) => `Waits for ${several(count, 'job', 'jobs')}`,
  waitsUntil: (time: string) => `Until ${time} at most; new jobs stay queued`,
  newJobsWait: 'New jobs stay queued',
  nothingChanged: 'Nothing has changed yet',
  cannotCancel: 'Can no longer be cancelled',
  askedToStop: (by: string) => `Asked to stop by ${by}; it may be too late.`,
  goesTo: (version: string) => `An update to ${version} is on`,

  versionRuns: (version: string) => `${version} runs`,
  lagsBehind: (version: string) => `“latest” does not lead to ${version} yet.`,
  reloads: 'This page reloads now.',
  unchanged: 'Nothing had to change',
  failed: 'The update failed',
  refused: 'The update was refused',
  cancelled: 'Cancelled',
  cancelledAbout: (version: string) => `${version} runs on; everything is as it was.`,
  broken: (version: string) => `${version} has started and is not well`,
  brokenUnknown: 'The update did not end well',
  crashed: 'The update was cut off',
  runsNow: (version: string) => `${version} answers now.`,
  warnings: (count: number) => (count === 1 ? 'A warning' : `${count} warnings`),

  checkedAgo: (time: string) => `Checked ${time} ago.`,
  nothingNewer: 'Nothing to do',
  lastCheckFailed: 'The last check failed',
  nextTry: (time: string) => `Next try in ${time}.`,
  isAvailable: 'is available',
  available: (version: string) => `${version} is available`,
  publishedAgo: (time: string) => `published ${time} ago`,
  newMajor: 'a new major version',
  onlyForward: 'A new major version; migrations only run forward',
  takeDump: 'Take a database dump first.',
  howToDump: 'How to take one',
  needsFirst: (version: string, first: string) => `${version} needs ${first} first`,
  needsFirstAbout: 'Update to it, then once more.',
  awayFew: (product: string) => `${product} will be away for a few seconds.`,
  awayAsLast: (product: string, time: string) =>
    `${product} will be away for about ${time}, as the last time.`,
  jobsWait: 'Jobs that come meanwhile wait and run afterwards.',
  inTheWay: (count: number) => (count === 1 ? '1 job is in the way' : `${count} jobs are in the way`),
  queued: 'queued',
  stuck: 'stuck',
  stuckFor: (time: string) => `${time}, stuck`,
  canWait: (product: string) =>
    `${product} can wait for them and then update by itself; new jobs stay queued and run afterwards.`,
  isStuck: 'What is stuck does not end by itself: end it, or cut everything short.',
  willCut: 'This cuts short:',
  notPossible: 'Not possible from here',
  byHand: 'On the machine, from the folder with the compose file:',
  otherUpdate: 'Another update is on',
  since: (time: string) => `Since ${time}`,

  pastChannel: (channel: string) => `Channel ${channel}`,
  pastLast: (date: string, way: string) => `last update ${date}, ${way}`,
  pastUpdates: 'The last updates',
  noUpdates: 'There has been no update yet.',
  changeChannel: 'Change the channel',
  away: (time: string) => `away ${time}`,
  today: (time: string) => `today ${time}`,
  when: 'When',
  fromTo: 'Versions',
  outcome: 'Outcome',
  absence: 'Away',
  who: 'Who',
  byNobody: 'by hand',
  serversBehind: (count: number) =>
    count === 1 ? '1 build server is behind' : `${count} build servers are behind`,
  serverRuns: (name: string, version: string) => `${name} runs ${version}`,

  channel: 'Release channel',
  save: 'Save',
  saving: 'Saving…',
  saved: (channel: string) => `Saved: the channel is ${channel}.`,
  notSaved: (why: string) => `Not saved: ${why}`,
  stands: (channel: string) => `The channel is still ${channel}.`,
  noAnswerShort: (product: string) => `${product} does not answer.`,
};

const own = (said: string): string => said;

const english: Texts = {
  ...single,
  reasons: {
    'not-compose': own,
    swarm: own,
    'no-engine': own,
    'no-directory': own,
    'store-unavailable': own,
    'update-running': own,
    'deployment-queued': own,
    'deployment-running': own,
    'backup-running': own,
    'cron-running': own,
    'cleanup-running': own,
    'job-running': own,
    'up-to-date': own,
  },
  upToDate: {
    newest: own,
    ahead: own,
    unread: own,
    off: own,
    none: own,
    lags: own,
    'unknown-version': own,
    'upgrade-step': own,
  },
  cancelRefusals: { 'not-running': own, 'too-late': own },
  outcomes: {
    updated: 'updated',
    unchanged: 'unchanged',
    refused: 'refused',
    failed: 'failed',
    broken: 'broken',
    cancelled: 'cancelled',
    crashed: 'cut off',
  },
  phases: {
    waiting: 'Waiting',
    preparing: 'Preparing',
    prepared: 'Prepared',
    checking: 'Checking',
    checked: 'Checked',
    pulling: 'Pulling',
    pulled: 'Pulled',
    replacing: 'Replacing',
    replaced: 'Replaced',
    verifying: 'Verifying',
    verified: 'Verified',
  },
  toDo: {
    waiting: 'Wait',
    preparing: 'Prepare',
    prepared: 'Prepare',
    checking: 'Check',
    checked: 'Check',
    pulling: 'Pull',
    pulled: 'Pull',
    replacing: 'Replace',
    replaced: 'Replace',
    verifying: 'Verify',
    verified: 'Verify',
  },
  jobKinds: { deployment: 'deployment', backup: 'backup', cron: 'cron job', cleanup: 'cleanup', job: 'job' },
  channels: {
    stable: { name: 'stable', about: 'Releases that were made by hand. For whoever works with it.' },
    canary: {
      name: 'canary',
      about:
        'Every build, as soon as there is one. Leaving it never goes back: the next stable release that is newer is offered.',
    },
  },
  units: {
    second: (count) => `${count} s`,
    minute: (count) => `${count} min`,
    hour: (count) => `${count} h`,
    day: (count) => several(count, 'day', 'days'),
  },
};

type Overrides = {
  [K in keyof Texts]?: Texts[K] extends Record<string, unknown> ? Partial<Texts[K]> : Texts[K];
};

export type { Overrides as TextOverrides };

let current: Texts = english;
const listeners = new Set<() => void>();

export const texts = (): Texts => current;

/** Replaces texts, for a translation or another name of the product; what is not named stays. */
export function setTexts(overrides: Overrides): void {
  const merged = Object.entries(overrides).map(([key, text]) => {
    const before = current[key as keyof Texts];
    const isList = typeof before === 'object' && typeof text === 'object';
    return [key, isList ? { ...before, ...text } : text];
  });
  current = { ...current, ...Object.fromEntries(merged) };
  for (const listener of listeners) listener();
}

/** Tells when texts were replaced, until what it gives is called. */
export function onTexts(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** The text of a code; the server's own sentence where the code is none that this page knows. */
export function saidOf(list: Readonly<Partial<Record<string, Said>>>, code: string, said: string): string {
  // An own name only: a code may be called `constructor`.
  const text = Object.hasOwn(list, code) ? list[code] : undefined;
  return typeof text === 'function' ? text(said) : (text ?? said);
}
