import type { ProductOptions } from '../../progress/product.ts';
import { type EndState, type launchStates, type PhaseWord, phaseWords } from '../../wire/codes.ts';
import type {
  BlockingJob,
  NextRelease,
  PublishedRelease,
  Reason,
  RestorePoint,
  RollbackOffer,
  RolledBack,
  Run,
  Status,
} from '../../wire/status.ts';
import type { Awaitable, Caller } from '../contract/options.ts';

/**
 * What a request gets: `closed`: the connection breaks; `bad-gateway`: a proxy's page; `html`: another page, with 200;
 * `silence`: nothing, until it is over; `logged-out`: 401; `unknown`: a server that knows of no run.
 */
export type Disturbance = 'closed' | 'bad-gateway' | 'html' | 'silence' | 'logged-out' | 'unknown';

/** One state of a run. */
export interface ScriptedStep {
  state: (typeof launchStates)[number] | PhaseWord;
  seconds: number;
  /** Once its time is over it goes on for as long as this says. */
  lasts?(): boolean;
  /** What it says, spread over its time; at least one line is said. With `percent`, as far as it has come. */
  says?: readonly (string | { message: string; percent?: number; level?: 'info' | 'warn' | 'error' })[];
  /** In place of the server's answers, as long as it lasts. */
  disturbed?: Disturbance;
  /** What `waiting` waits for, and until when at most. */
  jobs?: readonly BlockingJob[];
  until?: string;
}

export interface ScriptedEnd {
  outcome: EndState;
  /** How the instance stands. */
  message?: string;
  cause?: string;
  code?: string;
  advice?: string;
  /** The restore point that it saved. */
  point?: RestorePoint;
  /** The version and the data that were restored. */
  rolledBack?: RolledBack;
  /** What runs afterwards. Default: `to` where it was updated, else what ran before. */
  version?: string;
}

export interface ScriptedRun {
  steps: readonly ScriptedStep[];
  end: ScriptedEnd;
}

/** What is between two updates of a path. */
export interface ScriptedPendingStep {
  seconds: number;
  /** Once its time is over it goes on for as long as this says. */
  lasts?(): boolean;
  /** Why the platform is not ready for the next one. */
  reason?: string;
}

export interface ScriptedJob extends BlockingJob {
  /** After which it has ended; left out, it goes on. */
  seconds?: number;
}

/** A status without what the run tells, and without what follows from the rest. */
export type StatusPieces = Omit<
  Status,
  'run' | 'now' | 'releases' | 'updateAvailable' | 'canUpdate' | 'next'
> & {
  next: NextPieces | null;
};

/** Of what is not said nothing is known. */
type NextPieces = Pick<NextRelease, 'version' | 'major'> & Partial<NextRelease>;

/** A play: what there is at first, and what happens to each update that is started. Everything may be left out. */
export interface Script {
  /** What it is that is updated. Default svc. */
  product?: ProductOptions;
  /** How many times as fast as it says. Default 1. */
  speed?: number;
  /** What the status says. Default: v1.4.2, with v1.5.0 to go to. */
  status?: Partial<StatusPieces>;
  /** With `notes=1`. Default `latest`. */
  releases?: readonly PublishedRelease[];
  /** What the status says instead once somebody has it look again. */
  afterRefresh?: Partial<StatusPieces>;
  /** What is in the way, from `start()` on. */
  jobs?: readonly ScriptedJob[];
  /** An update that is on from `start()` on, started by hand. */
  open?: ScriptedRun;
  /** One for each update that is started; the last one for all that follow. Default `typicalRun()`. */
  runs?: readonly ScriptedRun[];
  /** One for each wait of a path, `next.upgradePath` of the status; the last one for all that follow. Default one second. */
  pendingSteps?: readonly ScriptedPendingStep[];
  /** The effects of a rollback, or why there is none. Default: there is no restore point. */
  rollback?: RollbackOffer | Reason;
  /** One for each rollback that is started; the last one for all that follow. Default `typicalRollback()`. */
  rollbacks?: readonly ScriptedRun[];
  /** Earlier runs, newest first. */
  history?: readonly Run[];
  /** Default: everybody is an admin. */
  authorize?(request: Request): Awaitable<Caller>;
  /** Answers in place of the play: a slow POST, a 503. Undefined: the play goes on. */
  intercept?(request: Request): Awaitable<Response | undefined>;
  /** Default `/api/v1/instance/update`. */
  path?: string;
}

/** What the status says where a script says nothing else. */
export const plainStatus: StatusPieces = {
  version: 'v1.4.2',
  channel: 'stable',
  latest: {
    version: 'v1.5.0',
    url: 'https://example.org/releases/v1.5.0',
    notes: '## What is new\n\n- Deployments are faster.',
    publishedAt: '2026-11-20T08:00:00.000Z',
  },
  next: { version: 'v1.5.0', major: false },
  prefetch: null,
  skipped: null,
  automatic: null,
  pendingStep: null,
  upToDate: null,
  reason: null,
  checkedAt: '2026-11-21T10:40:00.000Z',
  feedError: null,
  preparation: null,
  restorePoint: null,
  buildServers: [],
  manual: ['docker compose pull', 'docker compose up -d'],
};

const pulled = [10, 40, 70, 100].map((percent) => ({
  message: `pulling, ${percent * 1.2} of 120 MB`,
  percent,
}));
const copied = (percent: number) => ({ message: `copying data, ${percent * 3.2} of 320 MB`, percent });
const typical: Record<PhaseWord, Omit<ScriptedStep, 'state'>> = {
  inspect: { seconds: 1, says: ['updater started', 'found the instance'] },
  plan: { seconds: 1, says: ['app and worker will be updated'] },
  pull: { seconds: 5, says: pulled },
  save: { seconds: 1, says: [copied(30), copied(60)] },
  write: { seconds: 1, says: ['wrote .env'] },
  recreate: { seconds: 2, says: ['replacing app and worker'], disturbed: 'closed' },
  verify: { seconds: 3, says: ['waiting for app and worker to become healthy'] },
};
/** The second half of `save`, after the first stop. */
const stopped: ScriptedStep = { state: 'save', seconds: 1, says: [copied(100)], disturbed: 'closed' };

/**
 * A run as most are, of 14 seconds, two of them without a server; with a restore point 16 seconds, four of them without. One that ends
 * otherwise ends in the phase that is named, by default in the last one.
 */
export function typicalRun(end: ScriptedEnd & { in?: PhaseWord } = { outcome: 'updated' }): ScriptedRun {
  const { in: last = 'verify', ...rest } = end;
  const reached = phaseWords.slice(0, phaseWords.indexOf(last) + 1);
  const played = reached.filter((state) => state !== 'save' || end.point !== undefined || last === 'save');
  return playedThrough(played, rest);
}

/** A rollback: nothing is pulled, and the current data is saved first. */
export const typicalRollback = (end: ScriptedEnd = { outcome: 'updated' }): ScriptedRun =>
  playedThrough(['inspect', 'plan', 'save', 'recreate', 'verify'], end);

function playedThrough(states: readonly PhaseWord[], end: ScriptedEnd): ScriptedRun {
  const launching = { state: 'launching', seconds: 1, says: ['launching the updater'] } as const;
  const isStopped = states.includes('save');
  const steps = states.flatMap((state): ScriptedStep[] => {
    if (state === 'save') return [{ state, ...typical.save }, stopped];
    const isAway = state === 'write' && isStopped;
    return [{ state, ...typical[state], ...(isAway && { disturbed: 'closed' }) }];
  });
  return { steps: [launching, ...steps], end };
}
