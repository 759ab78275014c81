import type { ProductOptions } from '../../core/names/product.ts';
import { type EndState, type launchStates, type PhaseName, phaseNames } from '../../wire/codes.ts';
import {
  type BlockingJob,
  type NextRelease,
  type PublishedRelease,
  type Reason,
  type Rehearsal,
  type RestorePoint,
  type RollbackOffer,
  type Run,
  rehearsalSchema,
  type Status,
} from '../../wire/status.ts';
import type { Awaitable, Caller } from '../contract/instance-options.ts';

/**
 * How requests are disturbed:
 * - closed: the connection breaks
 * - bad-gateway: an error page of a proxy
 * - html: a page with status 200
 * - silence: no response during the step
 * - logged-out: status 401
 * - unknown: a server that does not know of any run
 */
export type Disturbance = 'closed' | 'bad-gateway' | 'html' | 'silence' | 'logged-out' | 'unknown';

/** Step of a simulated run. */
export interface ScriptedStep {
  state: (typeof launchStates)[number] | PhaseName;
  seconds: number;
  /** Extends the step beyond `seconds` for as long as the function returns true. */
  lasts?(): boolean;
  /**
   * Log messages, spread over the duration of the step. Default: one message with the name of the state. `percent` is
   * the progress.
   */
  says?: readonly (string | { message: string; percent?: number; level?: 'info' | 'warn' | 'error' })[];
  /** How requests are disturbed during the step. Default: not at all. */
  disturbed?: Disturbance;
  /** Running jobs that a run in the state `waiting` waits for. `until` is the time limit of the wait. */
  jobs?: readonly BlockingJob[];
  until?: string;
}

/** Result of a run. Omitted fields have the usual value for the outcome. */
export interface ScriptedEnd
  extends Partial<Pick<Run, 'message' | 'cause' | 'code' | 'advice' | 'rolledBack'>> {
  outcome: EndState;
  /** Restore point that the run saved. */
  point?: RestorePoint;
  /** Running version after the run. Default: `to` if the update succeeded, otherwise the old version. */
  version?: string;
}

export interface ScriptedRun {
  steps: readonly ScriptedStep[];
  end: ScriptedEnd;
}

/** Delay between two steps of an upgrade path. */
export interface ScriptedPendingStep {
  seconds: number;
  /** Extends the delay beyond `seconds` for as long as the function returns true. */
  lasts?(): boolean;
  /** Why the application is not ready for the next step. */
  reason?: string;
}

export interface ScriptedJob extends BlockingJob {
  /** Duration in seconds. Default: the job never finishes. */
  seconds?: number;
}

/** Status fields that a script can set. All other fields are derived. */
export type ScriptedStatus = Omit<
  Status,
  'run' | 'now' | 'releases' | 'updateAvailable' | 'canUpdate' | 'next'
> & {
  next: NextReleaseFields | null;
};

/** Next release in a script. Omitted fields are unknown. */
type NextReleaseFields = Pick<NextRelease, 'version' | 'major'> & Partial<NextRelease>;

/** Initial state, and the course of each update. All fields are optional. */
export interface Script {
  /** Product that is updated. Default: svc. */
  product?: ProductOptions;
  /** Playback speed. Default: 1. */
  speed?: number;
  /** Fields of the status. Default: v1.4.2 is running and v1.5.0 is available. */
  status?: Partial<ScriptedStatus>;
  /** Releases in the status if it is requested with `notes=1`. Default: only `latest`. */
  releases?: readonly PublishedRelease[];
  /** Changes to the status when it is requested with `refresh=1`. */
  afterRefresh?: Partial<ScriptedStatus>;
  /** Blocking jobs, whose durations begin at `start()`. */
  jobs?: readonly ScriptedJob[];
  /** Manually started update that is in progress at `start()`. */
  open?: ScriptedRun;
  /** One run for each update, in order. The last run is repeated for further updates. Default: `typicalRun()`. */
  runs?: readonly ScriptedRun[];
  /** Delays between the steps of `next.upgradePath`, in order. The last delay is repeated. Default: one second. */
  pendingSteps?: readonly ScriptedPendingStep[];
  /** Result of each rehearsal. Default: the new version becomes ready. */
  rehearsal?: Partial<Rehearsal>;
  /** Effects of a rollback, or why a rollback is not possible. Default: there is no restore point. */
  rollback?: RollbackOffer | Reason;
  /**
   * One run for each rollback, in order. The last run is repeated for further rollbacks. Default: `typicalRollback()`.
   */
  rollbacks?: readonly ScriptedRun[];
  /** Earlier runs, newest first. */
  history?: readonly Run[];
  /** Authenticates a request. Default: every user is an admin. */
  authorize?(request: Request): Awaitable<Caller>;
  /** Returns a response that replaces the normal response, for example a 503; undefined for the normal response. */
  intercept?(request: Request): Awaitable<Response | undefined>;
  /** Base path of the endpoints. Default: `/api/v1/instance/update`. */
  path?: string;
}

export const defaultScriptedStatus: ScriptedStatus = {
  version: 'v1.4.2',
  channel: 'stable',
  latest: {
    version: 'v1.5.0',
    url: 'https://example.org/releases/v1.5.0',
    notes: '## Changes\n\n- Deployments are faster.',
    publishedAt: '2026-11-20T08:00:00.000Z',
  },
  next: { version: 'v1.5.0', major: false },
  prefetch: null,
  rehearsal: null,
  skipped: null,
  automatic: null,
  pendingStep: null,
  upToDate: null,
  reason: null,
  checkedAt: '2026-11-21T10:40:00.000Z',
  feedError: null,
  recalled: null,
  urgent: null,
  preparation: null,
  restorePoint: null,
  buildServers: [],
  manual: ['docker run --rm -v "$PWD:$PWD" acme/svc-updater:1 --target v1.5.0'],
};

const pulled = [10, 40, 70, 100].map((percent) => ({
  message: `pulling, ${percent * 1.2} of 120 MB`,
  percent,
}));
const copied = (percent: number) => ({ message: `copying data, ${percent * 3.2} of 320 MB`, percent });
const typical: Record<PhaseName, Omit<ScriptedStep, 'state'>> = {
  inspect: { seconds: 1, says: ['updater started', 'found the instance'] },
  plan: { seconds: 1, says: ['app and worker will be updated'] },
  pull: { seconds: 5, says: pulled },
  save: { seconds: 1, says: [copied(30), copied(60)] },
  write: { seconds: 1, says: ['wrote .env'] },
  recreate: { seconds: 2, says: ['replacing app and worker'], disturbed: 'closed' },
  verify: { seconds: 3, says: ['waiting for app and worker to become healthy'] },
};
/** Second half of the phase `save`, after the containers were stopped. */
const stopped: ScriptedStep = { state: 'save', seconds: 1, says: [copied(100)], disturbed: 'closed' };

/**
 * Returns a typical run of 14 seconds, with two seconds of downtime. If `end` contains a restore point, the run takes
 * 16 seconds, with four seconds of downtime. `in` is the phase in which the run ends. Default: the last phase.
 */
export function typicalRun(end: ScriptedEnd & { in?: PhaseName } = { outcome: 'updated' }): ScriptedRun {
  const { in: last = 'verify', ...rest } = end;
  const reached = phaseNames.slice(0, phaseNames.indexOf(last) + 1);
  const played = reached.filter((state) => state !== 'save' || end.point !== undefined || last === 'save');
  return playedThrough(played, rest);
}

/** Returns a typical rollback, which pulls nothing and saves the current data first. */
export const typicalRollback = (end: ScriptedEnd = { outcome: 'updated' }): ScriptedRun =>
  playedThrough(['inspect', 'plan', 'save', 'recreate', 'verify'], end);

function playedThrough(states: readonly PhaseName[], end: ScriptedEnd): ScriptedRun {
  const launching = { state: 'launching', seconds: 1, says: ['launching the updater'] } as const;
  const isStopped = states.includes('save');
  const steps = states.flatMap((state): ScriptedStep[] => {
    if (state === 'save') return [{ state, ...typical.save }, stopped];
    const isAway = state === 'write' && isStopped;
    return [{ state, ...typical[state], ...(isAway && { disturbed: 'closed' }) }];
  });
  return { steps: [launching, ...steps], end };
}

/** Returns the entry at the index, or the last entry if the list is shorter. If there is no list, returns `usual`. */
export const entryOrLast = <T>(list: readonly T[] | undefined, at: number, usual: T): T =>
  list?.[Math.min(at, list.length - 1)] ?? usual;

export const completeNextRelease = (next: ScriptedStatus['next']): NextRelease | null =>
  next && { downloaded: null, estimatedSeconds: null, upgradePath: [next.version], settings: [], ...next };

export const createRunningRehearsal = (version: string, by: string): Rehearsal => {
  const startedAt = new Date().toISOString();
  return rehearsalSchema.read({ version, by, startedAt, message: 'copying the data' }) as Rehearsal;
};
