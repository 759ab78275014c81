import {
  initialPageState,
  type PageAction,
  type PageState,
  reducePageState,
} from '../../src/web/model/page-state.ts';
import { createRunWithDefaults as wholeRun } from '../../src/wire/api-client/parse-responses.ts';
import type { Automatic, Run, Status } from '../../src/wire/status.ts';

export const begin = '2026-11-20T10:00:00.000Z';

export const runOf = (change: Partial<Run> = {}): Run =>
  wholeRun({
    id: 'run1',
    state: 'pull',
    phase: 'pull',
    percent: 42,
    from: 'v1.4.2',
    to: 'v1.5.0',
    startedAt: begin,
    message: 'pulling',
    log: 'docker logs svc-updater',
    by: 'anna',
    ...change,
  });

export const endedRun = (outcome: Run['outcome'], change: Partial<Run> = {}): Run =>
  runOf({ outcome, state: outcome ?? 'pull', percent: null, endedAt: begin, ...change });

export const latestOf = (version: string): NonNullable<Status['latest']> => ({
  version,
  url: null,
  notes: null,
  publishedAt: null,
});

/** A release that can be installed next, as the first one of the path. */
export const nextOf = (
  upgradePath: readonly [string, ...string[]],
  { major = false } = {},
): NonNullable<Status['next']> => ({
  version: upgradePath[0],
  major,
  downloaded: null,
  estimatedSeconds: null,
  upgradePath: [...upgradePath],
  settings: [],
});

export const statusOf = (change: Partial<Status> = {}): Status => ({
  version: 'v1.4.2',
  channel: 'stable',
  latest: latestOf('v1.5.0'),
  next: nextOf(['v1.5.0']),
  prefetch: null,
  rehearsal: null,
  skipped: null,
  automatic: null,
  pendingStep: null,
  upToDate: null,
  updateAvailable: true,
  canUpdate: true,
  reason: null,
  checkedAt: begin,
  feedError: null,
  recalled: null,
  urgent: null,
  preparation: null,
  restorePoint: null,
  buildServers: [],
  manual: [],
  run: null,
  now: begin,
  ...change,
});

export const automaticOf = (change: Partial<Automatic> = {}): Automatic => ({
  enabled: true,
  from: '02:00',
  to: '05:00',
  timeZone: 'UTC',
  days: [],
  minAgeHours: 72,
  includeMajors: false,
  rehearse: false,
  nextAt: '2026-11-21T02:00:00.000Z',
  blockedBy: null,
  ...change,
});

/** The available upgrade path if v1.5.0 must be installed before v2.0.0. */
export const onTheWay: Partial<Status> = {
  latest: latestOf('v2.0.0'),
  next: nextOf(['v1.5.0', 'v2.0.0']),
};
export const path = ['v1.5.0', 'v2.0.0'];
/** The status after the first update of the path: v1.5.0 is running, and v2.0.0 is next. */
export const halfway = (change: Partial<Status> = {}): PageAction => {
  const next = nextOf(['v2.0.0'], { major: true });
  const pendingStep = { to: 'v2.0.0', reason: 'not yet', since: begin, until: '2026-11-20T11:00:00.000Z' };
  const run = endedRun('updated', { upgradePath: path });
  return status({ ...onTheWay, version: 'v1.5.0', next, pendingStep, run, ...change });
};

export const status = (change: Partial<Status> = {}): PageAction => ({
  kind: 'status',
  status: statusOf(change),
});
export const run = (told: Run): PageAction => ({ kind: 'run', run: { ...told, now: begin } });
export const nothing: PageAction = {
  kind: 'unheard',
  refused: { kind: 'none', why: { what: 'nothing', cause: null } },
};
export const page = (code: number): PageAction => ({
  kind: 'unheard',
  refused: { kind: 'none', why: { what: 'other', status: code, type: 'text/html' } },
});
export const loggedOut: PageAction = {
  kind: 'unheard',
  refused: { kind: 'logged-out', status: 401, location: null, inFront: null },
};

/** The state of a page after these actions: the first at 1000 ms, each other a second after the previous. */
export const stateAfter = (...told: PageAction[]): PageState =>
  told.reduce((state, one, index) => reducePageState(state, one, (index + 1) * 1000), initialPageState);
