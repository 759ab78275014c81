import { type Action, initialState, type PageState, reduce } from '../../src/web/model/page-state.ts';
import { runOf as wholeRun } from '../../src/wire/reader-shapes.ts';
import type { Run, Status } from '../../src/wire/status.ts';

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

export const statusOf = (change: Partial<Status> = {}): Status => ({
  version: 'v1.4.2',
  channel: 'stable',
  latest: { version: 'v1.5.0', url: null, notes: null, publishedAt: null },
  next: { version: 'v1.5.0', major: false, ready: null, seconds: null, path: ['v1.5.0'] },
  ahead: null,
  skipped: null,
  automatic: null,
  between: null,
  upToDate: null,
  updateAvailable: true,
  canUpdate: true,
  reason: null,
  checkedAt: begin,
  feedError: null,
  preparation: null,
  restorePoint: null,
  buildServers: [],
  manual: [],
  run: null,
  now: begin,
  ...change,
});

export const status = (change: Partial<Status> = {}): Action => ({
  kind: 'status',
  status: statusOf(change),
});
export const run = (told: Run): Action => ({ kind: 'run', run: { ...told, now: begin } });
export const nothing: Action = {
  kind: 'refused',
  refused: { kind: 'none', why: { what: 'nothing', cause: null } },
};
export const page = (code: number): Action => ({
  kind: 'refused',
  refused: { kind: 'none', why: { what: 'other', status: code, type: 'text/html' } },
});
export const loggedOut: Action = {
  kind: 'refused',
  refused: { kind: 'logged-out', status: 401, location: null, inFront: null },
};

/** What a page knows that was told these things, a second after each other: the first at 1000. */
export const stateAfter = (...told: Action[]): PageState =>
  told.reduce((state, one, index) => reduce(state, one, (index + 1) * 1000), initialState);
