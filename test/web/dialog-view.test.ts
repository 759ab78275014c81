import { describe, expect, it } from 'vitest';
import { englishTexts } from '../../src/presentation/english.ts';
import type { Presentation } from '../../src/presentation/presentation-parts.ts';
import { createTextsAndFormats } from '../../src/presentation/texts-and-formats.ts';
import { selectDialogPresentation } from '../../src/web/model/dialog-presentation.ts';
import type { PageAction } from '../../src/web/model/page-state.ts';
import { computeServerTime } from '../../src/web/model/server-clock.ts';
import { blockingReasonCodes, runOutcomes, runStates } from '../../src/wire/codes.ts';
import type { BlockingJob, Reason, Run } from '../../src/wire/status.ts';
import {
  begin,
  endedRun,
  halfway,
  latestOf,
  loggedOut,
  nextOf,
  nothing,
  onTheWay,
  page,
  path,
  run,
  runOf,
  stateAfter,
  status,
} from './state.ts';

function viewAfter(told: PageAction[], now = told.length * 1000, closed: string[] = []): Presentation {
  const state = stateAfter(...told);
  const t = createTextsAndFormats(englishTexts, computeServerTime(state.clock, now));
  return selectDialogPresentation(state, { now, dismissed: new Set(closed) }, t);
}
const partOf = ({ parts }: Presentation, kind: string) => parts.find((part) => part && part.kind === kind);
const ordersIn = ({ actions }: Presentation) =>
  actions.flatMap((action) =>
    action && 'press' in action && action.press && 'order' in action.press && action.press.kind !== 'rehearse'
      ? [action.press.order]
      : [],
  );

const jobs = [
  { kind: 'backup', state: 'running', title: null, since: begin, stuck: false },
] satisfies BlockingJob[];
const jobReason: Reason = { code: 'backup-running', message: 'a backup', jobs };
const place = { code: 'no-engine', message: 'no engine' } as const;
const open = run(runOf());
const first = run(runOf({ upgradePath: path }));
const firstEnded = (outcome: Run['outcome']) => run(endedRun(outcome, { upgradePath: path }));
const firstInStatus = status({ ...onTheWay, run: runOf({ upgradePath: path }) });
const halfwayCancelled = halfway({ pendingStep: null, run: endedRun('updated') });
const second = { id: 'run2', to: 'v2.0.0', upgradePath: path };
const replacing = run(runOf({ state: 'recreate' }));
const user: PageAction = { kind: 'status', status: { version: 'v1.4.2', updating: false } };
const problem = { status: 503, detail: 'closed' };
const offer = { from: 'v1.5.0', to: 'v1.4.2', at: begin, downtimeSeconds: 9 };
const asking: PageAction = { kind: 'rollback', rollback: { kind: 'asking', to: 'v1.4.2', since: 2000 } };
const offered: PageAction = { kind: 'rollback', rollback: { kind: 'offer', offer } };
const rollbackRefused: PageAction = {
  kind: 'rollback',
  rollback: { kind: 'refused', to: 'v1.4.2', problem },
};

describe('the first view of a dialog', () => {
  it.each<[string, PageAction[], number?]>([
    ['asking', []],
    ['users-only', [user]],
    ['available', [status()]],
    ['nothing', [status({ next: null, reason: place })]],
    ['not-possible', [status({ reason: place })]],
    ['jobs', [status({ reason: jobReason })]],
    ['other-update', [status({ reason: { code: 'update-running', message: 'x' } })]],
    ['not-possible', [status({ reason: { code: 'moon' as never, message: 'x' } })]],
    // Order of precedence: logged out, no response, current run.
    ['logged-out', [status(), open, nothing, loggedOut], 99_000],
    ['no-answer', [status(), open, nothing], 6_000],
    ['updating', [status(), open]],
    // A short interruption is not an outage, and a response ends an outage.
    ['updating', [status(), open, nothing], 3_500],
    ['updating', [status(), open, nothing, { kind: 'heard' }], 60_000],
    ['no-answer', [nothing]],
    // From `recreate` on, svc is expected to be unavailable, even if another server responds at its address.
    ['restarting', [status(), replacing, nothing]],
    ['restarting', [status(), replacing, page(502)]],
    ['restarting', [status(), replacing, page(200)], 12_900],
    ['other-page', [status(), replacing, page(200)], 13_000],
    ['other-page', [status(), page(200), page(200)], 12_000],
    // Requests from this page.
    ['starting', [status(), { kind: 'pressed', to: 'v1.5.0' }]],
    ['starting', [status(), { kind: 'pressed', to: 'v1.5.0' }, { kind: 'closed' }]],
    ['not-started', [status(), { kind: 'pressed', to: 'v1.5.0' }, { kind: 'not-started', problem }]],
    ['jobs', [status(), { kind: 'pressed', to: 'v1.5.0' }, { kind: 'in-the-way', reason: { ...jobReason } }]],
    ['available', [status(), { kind: 'not-started', problem }, { kind: 'acknowledged' }]],
    // A requested rollback comes before a result that was not dismissed.
    ['rollback-asking', [status({ run: endedRun('broken') }), asking]],
    ['rollback', [status({ run: endedRun('broken') }), offered]],
    ['rollback-refused', [status(), { kind: 'pressed', to: 'v1.4.2' }, rollbackRefused]],
    ['starting', [status(), offered, { kind: 'pressed', to: 'v1.4.2' }]],
    ['updating', [status(), offered, open]],
    ['available', [status(), offered, { kind: 'closed' }]],
    // Upgrade paths.
    ['pendingStep', [halfway()]],
    // The stream reports the result before the next status does, and the old server may still respond.
    ['pendingStep', [status(onTheWay), first, firstEnded('updated')]],
    ['pendingStep', [firstInStatus, firstEnded('updated'), firstInStatus]],
    ['failed', [status(onTheWay), first, firstEnded('failed')]],
    ['updating', [halfway(), status({ run: runOf(second) })]],
    ['updated', [halfway(), run(runOf(second)), run(endedRun('updated', second))]],
    // A cancelled upgrade path ends at the running version.
    ['available', [halfwayCancelled]],
    ['updated', [status(onTheWay), first, halfway(), halfwayCancelled]],
    // Results of automatic updates that changed nothing.
    [
      'available',
      [status(), run(runOf({ by: 'automatic' })), run(endedRun('cancelled', { by: 'automatic' }))],
    ],
    ['failed', [status({ run: endedRun('failed', { by: 'automatic' }) })]],
    // Results.
    ['failed', [status({ run: endedRun('failed') })]],
    ['available', [status({ run: endedRun('updated') })]],
    ['updated', [status(), open, run(endedRun('updated'))]],
    ['run-unknown', [status(), open, { kind: 'unknown' }]],
    ['updating', [status(), open, { kind: 'unknown' }, open]],
  ])('is %s (%#)', (kind, told, now) => {
    expect(viewAfter(told, now).kind).toBe(kind);
  });

  it('is a result until it is dismissed in this browser', () => {
    const told = [status({ run: endedRun('broken') })];
    expect(viewAfter(told).kind).toBe('broken');
    expect(viewAfter(told, 1000, ['run1']).kind).toBe('available');
    expect(viewAfter([...told, open, { kind: 'unknown' }], 3000, ['run1']).kind).toBe('available');
  });

  it('covers each state, outcome and reason', () => {
    const kinds = runStates.map((state) => viewAfter([status(), run(runOf({ state, outcome: null }))]).kind);
    const updating = Array(5).fill('updating');
    expect(kinds.slice(0, 10)).toEqual(['waiting', 'preparing', 'preparing', ...updating, 'late', 'late']);
    expect(viewAfter([status(), run(runOf({ state: 'tea' as never }))]).kind).toBe('other-state');
    const rollback = (state: Run['state']) => run(runOf({ kind: 'rollback', state }));
    expect(viewAfter([status(), rollback('waiting')]).kind).toBe('waiting');
    // A launched rollback cannot be cancelled.
    expect(viewAfter([status(), rollback('inspect')]).kind).toBe('late');
    expect(viewAfter([status(), run(runOf({ cancelRequestedBy: 'ben' }))]).kind).toBe('cancelling');
    expect(viewAfter([status(), run(runOf({ state: 'verify', cancelRequestedBy: 'ben' }))]).kind).toBe(
      'late',
    );
    const ends = [...runOutcomes, 'tea' as never].map(
      (end) => viewAfter([status(), open, run(endedRun(end))]).kind,
    );
    expect(ends.join(' ')).toBe('updated unchanged failed failed broken cancelled broken other-end');
    const reasons = blockingReasonCodes.map((code) => {
      const reason = /^(?!update|rehearsal).*-(?:queued|running)$/.test(code)
        ? { ...jobReason, code }
        : { code, message: 'x' };
      return viewAfter([status({ reason })]).kind;
    });
    expect(reasons).toEqual([
      ...Array(5).fill('not-possible'),
      'other-update',
      'not-possible',
      ...Array(6).fill('jobs'),
      ...Array(6).fill('available'),
      'not-possible',
    ]);
  });

  it('computes ages from the server clock', () => {
    const reason = { ...jobReason, jobs: jobs.map((job) => ({ ...job, since: '2026-11-20T09:58:00.000Z' })) };
    const timeAt = (now: string) => partOf(viewAfter([status({ reason, now })], 31_000), 'jobs');
    expect(timeAt(begin)).toMatchObject({ jobs: [{ time: '2 min' }] });
    expect(timeAt('tea time')).toMatchObject({ jobs: [{ time: '' }] });
  });

  it.each([
    [{ version: 'v1.5.0' }, false],
    [{ version: 'v1.4.9' }, true],
    // A later run changed the version.
    [{ version: 'v1.6.0', run: endedRun('updated', { id: 'run2' }) }, false],
  ])('reports a tag that does not point to the new version yet: %j', (change, isLagging) => {
    const after = endedRun('updated');
    const view = viewAfter([status(), open, run(after), status({ run: after, ...change })]);
    expect(view.kind).toBe('updated');
    expect(partOf(view, 'box')).toEqual(
      isLagging ? expect.objectContaining({ heading: englishTexts.latestNotMoved('v1.5.0') }) : undefined,
    );
  });

  it('shows a restart only after the run has reached a phase in which svc may be unavailable', () => {
    const kindIn = (...states: Run['state'][]) => {
      const steps = states.map((state) => ({ state, startedAt: begin, endedAt: null, message: '' }));
      const state = states.at(-1) ?? 'pull';
      return viewAfter([status(), run(runOf({ state, steps })), nothing], 6000).kind;
    };
    expect(kindIn('pull')).toBe('no-answer');
    expect(kindIn('pull', 'write')).toBe('no-answer');
    expect(kindIn('pull', 'save')).toBe('restarting');
    expect(kindIn('pull', 'save', 'write')).toBe('restarting');
    expect(kindIn('pull', 'write', 'recreate')).toBe('restarting');
  });

  it('offers a required intermediate release', () => {
    const next = nextOf(['v2.8.0'], { major: true });
    const view = viewAfter([status({ latest: latestOf('v3.0.0'), next })]);
    expect(view.heading).toBe('v3.0.0 is available');
    expect(partOf(view, 'box')).toMatchObject({ heading: 'v2.8.0 must be installed before v3.0.0' });
    expect(ordersIn(view)).toEqual([{ target: 'v2.8.0' }]);
    expect(view.actions).not.toContainEqual(expect.objectContaining({ key: 'skip' }));
    expect(partOf(viewAfter([status({})]), 'box')).toBeUndefined();
  });

  it('offers an upgrade path that ends at the latest release', () => {
    const order = { target: 'v2.0.0', allSteps: true };
    const view = viewAfter([status(onTheWay)]);
    expect(ordersIn(view)).toEqual([order]);
    expect(partOf(view, 'path')).toMatchObject({ versions: ['v1.4.2', ...path], done: 1 });
    expect(partOf(view, 'box')).toMatchObject({ heading: englishTexts.majorWarning });
    // The path ends before the latest release.
    const before = viewAfter([status({ ...onTheWay, latest: latestOf('v3.0.0') })]);
    expect(before.heading).toBe('v3.0.0 is available');
    expect(partOf(before, 'path')).toBeUndefined();
    expect(ordersIn(viewAfter([status({ ...onTheWay, reason: jobReason })]))).toEqual([
      { ...order, when: 'idle' },
    ]);
    const stopped = status({ ...onTheWay, run: endedRun('failed', { upgradePath: path }) });
    expect(ordersIn(viewAfter([stopped]))).toEqual([order, null]);
  });

  it('shows the position on an upgrade path', () => {
    const last = viewAfter([status(), run(runOf({ to: 'v2.0.0', upgradePath: path }))]);
    expect(partOf(last, 'path')).toMatchObject({ versions: path, done: 1, isRunning: true });
    expect(partOf(viewAfter([status(), open]), 'path')).toBeUndefined();
    const between = viewAfter([halfway()], 61_000);
    expect(between).toMatchObject({
      heading: 'svc v1.5.0 is not ready for the next update yet',
      about: '1 of 2 · 1:00 · you can close this dialog at any time',
    });
    expect(partOf(between, 'path')).toMatchObject({ versions: path, done: 1, isRunning: false });
    // The previous run is not part of the upgrade path.
    const older = status({
      ...onTheWay,
      run: endedRun('updated', { id: 'run0', to: 'v1.4.2', upgradePath: ['v1.4.2', 'v1.4.3'] }),
    });
    const next = viewAfter([older, first, firstEnded('updated')]);
    expect(partOf(next, 'text')).toMatchObject({ text: englishTexts.nextStartsSoon('v2.0.0') });
    expect(partOf(next, 'path')).toMatchObject({ versions: path, done: 1 });
  });

  it('retries the same version after a broken run, and the available version after a failed run', () => {
    const again = (...told: PageAction[]) => ordersIn(viewAfter(told))[0];
    expect(again(status({ next: null, run: endedRun('broken') }))).toEqual({ target: 'v1.5.0' });
    expect(again(status({ next: null, run: endedRun('crashed', { to: null }) }))).toEqual({
      target: 'v1.4.2',
    });
    expect(again(status({ run: endedRun('failed') }))).toEqual({ target: 'v1.5.0' });
    expect(again(status({ run: endedRun('failed', { to: 'v1.4.9' }) }))).toBeNull();
    // The restore point must be checked again first.
    expect(again(status({ run: endedRun('broken', { kind: 'rollback' }) }))).toBeNull();
  });
});
