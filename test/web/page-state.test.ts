import { describe, expect, it } from 'vitest';
import { englishTexts } from '../../src/presentation/english.ts';
import { createTextsAndFormats } from '../../src/presentation/texts-and-formats.ts';
import { initialPageState, type PageState } from '../../src/web/model/page-state.ts';
import { findRunIdToReloadAfter } from '../../src/web/model/selectors.ts';
import { formatTabTitle } from '../../src/web/views/tab-title.ts';
import type { Run } from '../../src/wire/status.ts';
import {
  endedRun,
  halfway,
  loggedOut,
  nothing,
  page,
  path,
  run,
  runOf,
  stateAfter,
  status,
} from './state.ts';

describe('the state of a page', () => {
  it('never reopens a finished run, except a run that was considered crashed', () => {
    expect(stateAfter(run(runOf()), run(endedRun('failed')), run(runOf())).watched?.outcome).toBe('failed');
    expect(stateAfter(run(runOf()), run(endedRun('crashed')), run(runOf())).watched?.outcome).toBeNull();
  });

  it('finds the result of its run in the history', () => {
    const later = status({ run: endedRun('failed', { id: 'run2' }) });
    const told = [status({ run: runOf() }), later];
    expect(stateAfter(...told).watched).toMatchObject({ id: 'run1', outcome: null });
    const history = { kind: 'history', runs: [endedRun('updated')] } as const;
    expect(stateAfter(...told, history).watched).toMatchObject({ id: 'run1', outcome: 'updated' });
  });

  it('uses the version reported by the run until svc reports its own version', () => {
    const told = [status(), run(runOf()), run(endedRun('updated'))];
    expect(stateAfter(...told).version).toBe('v1.5.0');
    const older = status({ run: endedRun('updated') });
    expect(stateAfter(...told, older).version).toBe('v1.4.2');
    // The result is reported a second time.
    expect(stateAfter(...told, older, run(endedRun('updated'))).version).toBe('v1.4.2');
    expect(stateAfter(status(), run(runOf()), run(endedRun('failed'))).version).toBe('v1.4.2');
  });

  it('counts an outage from the first failed request, and a different page from its first response', () => {
    expect(stateAfter(status(), nothing, page(502)).outage).toEqual({ since: 2000, pageSince: null });
    expect(stateAfter(status(), nothing, page(200), page(200)).outage).toEqual({
      since: 2000,
      pageSince: 3000,
    });
    expect(stateAfter(status(), page(200), nothing, page(200)).outage).toEqual({
      since: 2000,
      pageSince: 4000,
    });
    expect(stateAfter(nothing, loggedOut).outage).toBeNull();
    expect(stateAfter(loggedOut, nothing)).toEqual(stateAfter(loggedOut));
  });

  it('contains nothing of the status after a logout, whatever arrives later', () => {
    const signedOut = { ...initialPageState, loggedOut: true };
    const jobs = [{ kind: 'backup', state: 'queued', title: 'x', since: null, stuck: false }] as const;
    const told = status({ reason: { code: 'backup-running', message: 'x', jobs: [...jobs] } });
    const history = { kind: 'history', runs: [endedRun('updated')] } as const;
    const late = [
      history,
      run(runOf()),
      { kind: 'heard' },
      nothing,
      { kind: 'pressed', to: 'v1.5.0' },
    ] as const;
    expect(stateAfter(told, history, loggedOut, ...late)).toEqual(signedOut);
    expect(stateAfter(told, run(runOf({ state: 'recreate' })), loggedOut, ...late)).toEqual(signedOut);
    expect(stateAfter(told, loggedOut, status()).status?.version).toBe('v1.4.2');
  });

  it('treats a redirect to a login page as an outage while the product restarts, for 30 seconds', () => {
    const refused = { kind: 'logged-out', status: 0, location: null, inFront: null } as const;
    const stateIn = (state: Run['state'], count: number) =>
      stateAfter(status(), run(runOf({ state })), ...Array(count).fill({ kind: 'unheard', refused }));
    expect(stateIn('recreate', 1)).toMatchObject({ loggedOut: false, outage: { since: 3000 } });
    expect(stateIn('recreate', 30)).toMatchObject({ loggedOut: false, watched: { id: 'run1' } });
    expect(stateIn('recreate', 31)).toEqual({ ...initialPageState, loggedOut: true });
    expect(stateIn('pull', 1).loggedOut).toBe(true);
  });

  it('escapes characters that could hide text', () => {
    const cause = 'web \u202egnp.exe\nnext';
    const told = stateAfter(status({ run: endedRun('failed', { cause }) })).status?.run?.cause;
    expect(told).toBe('web \\u202egnp.exe\nnext');
  });
});

describe('the page reloads', () => {
  const after = endedRun('updated');
  const new_ = status({ version: 'v1.5.0', run: after });
  it.each([
    [
      'after an answer from a server that knows the result',
      [status(), run(runOf()), run(after), new_],
      'run1',
    ],
    ['not before that answer', [status(), run(runOf()), run(after)], null],
    ['not after a run that the page has not seen', [status(), new_, new_], null],
    [
      'not after another result',
      [status(), run(runOf()), run(endedRun('unchanged')), status({ run: endedRun('unchanged') })],
      null,
    ],
    [
      'also after a later run',
      [status(), run(runOf()), run(after), status({ run: endedRun('failed', { id: 'run2' }) })],
      'run1',
    ],
    [
      'also after a step of an upgrade path that ran unseen',
      [
        halfway(),
        status({ version: 'v2.0.0', run: { ...after, id: 'run2', to: 'v2.0.0', upgradePath: path } }),
        status({ version: 'v2.0.0', run: { ...after, id: 'run2', to: 'v2.0.0', upgradePath: path } }),
      ],
      'run2',
    ],
    [
      'not between two updates of an upgrade path',
      [status(), run(runOf({ upgradePath: path })), halfway(), halfway()],
      null,
    ],
    [
      'after an upgrade path was cancelled between two updates',
      [
        status(),
        run(runOf({ upgradePath: path })),
        halfway(),
        halfway({ pendingStep: null, run: after }),
        new_,
      ],
      'run1',
    ],
  ] as const)('%s', (_, told, id) => {
    expect(findRunIdToReloadAfter(stateAfter(...told))).toBe(id);
  });
});

describe('the title of the tab', () => {
  const titleOf = (state: PageState, now: number, dismissed: ReadonlySet<string>) =>
    formatTabTitle(state, { now, dismissed }, createTextsAndFormats(englishTexts, null));
  const closed = new Set<string>();
  it.each([
    [[status()], null],
    [[status(), run(runOf()), nothing], '42 % – svc'],
    [[status(), run(runOf({ state: 'verify', percent: null })), nothing], 'unavailable 3 s – svc'],
    [[status(), run(runOf()), run(endedRun('updated')), status({ version: 'v1.5.0' })], '✓ v1.5.0 – svc'],
    [[status(), run(runOf()), run(endedRun('broken'))], 'Update failed – svc'],
    [
      [status(), run(runOf({ kind: 'rollback' })), run(endedRun('failed', { kind: 'rollback' }))],
      'Rollback failed – svc',
    ],
    [[status(), run(runOf({ by: 'automatic' })), run(endedRun('refused', { by: 'automatic' }))], null],
  ] as const)('shows the expected text (%#)', (told, title) => {
    expect(titleOf(stateAfter(...told), (told.length + 3) * 1000, closed)).toBe(title);
  });

  it('is the title of the page once the result is dismissed', () => {
    const state = stateAfter(status(), run(runOf()), run(endedRun('broken')));
    expect(titleOf(state, 9000, new Set(['run1']))).toBeNull();
  });
});
