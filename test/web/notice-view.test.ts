import { describe, expect, it } from 'vitest';
import { type NoticeSurroundings, noticeView } from '../../src/web/model/notice-view.ts';
import type { Action } from '../../src/web/model/page-state.ts';
import { endedRun, halfway, onTheWay, path, run, runOf, stateAfter, status } from './state.ts';

const admin: NoticeSurroundings = {
  isAdmin: true,
  pageVersion: 'v1.4.2',
  dismissed: new Set(),
  isDialogOpen: false,
};
const anybody = { ...admin, isAdmin: false };
const user = (updating = false, version = 'v1.4.2'): Action => ({
  kind: 'status',
  status: { version, updating },
});
const calm = { next: null };
const itself = endedRun('updated', { by: 'automatic' });
const after = { version: 'v1.5.0', next: null, run: itself };
const newPage = { ...admin, pageVersion: '1.5.0' };
const place = { versions: path, at: 0 };

describe('a notice', () => {
  it.each<[string, Action[], NoticeSurroundings, object]>([
    ['the page’s own version before an answer', [], admin, { version: 'v1.4.2', isButton: true, pill: null }],
    ['to anybody the version', [user()], anybody, { version: 'v1.4.2', isButton: false, pill: null }],
    [
      'to somebody whom the page takes for an admin the same',
      [user()],
      admin,
      { isButton: false, pill: null },
    ],
    ['what is newer', [status()], admin, { pill: { kind: 'available', to: 'v1.5.0' } }],
    ['where a path leads', [status(onTheWay)], admin, { pill: { kind: 'available', to: 'v2.0.0' } }],
    [
      'nothing of what is skipped',
      [status({ skipped: { version: 'v1.5.0', since: null } })],
      admin,
      { isButton: true, pill: null },
    ],
    [
      'a bad end',
      [status({ run: endedRun('failed') })],
      admin,
      { pill: { kind: 'failed', isRollback: false } },
    ],
    [
      'an update to users',
      [user(true)],
      anybody,
      { pill: { kind: 'updating', percent: null, isButton: false } },
    ],
    [
      'an update to admins',
      [status(), run(runOf())],
      admin,
      { pill: { kind: 'updating', percent: 42, isButton: true } },
    ],
    [
      'how far a path has come',
      [status(), run(runOf({ upgradePath: path }))],
      admin,
      { pill: { kind: 'updating', place, percent: 42 } },
    ],
    ['the same between two of its updates', [halfway()], newPage, { pill: { kind: 'updating', place } }],
    ['an update by itself', [status(after)], newPage, { pill: null, news: itself }],
    ['none to an old page', [status(after)], admin, { news: null }],
    [
      'no end of one that has changed nothing',
      [status({ ...calm, run: endedRun('refused', { by: 'automatic' }) })],
      admin,
      { pill: null, news: null },
    ],
    [
      'an old page',
      [user(), user(false, 'v1.5.0'), user(false, 'v1.5.0')],
      anybody,
      { version: 'v1.5.0', pill: { kind: 'reload', version: 'v1.5.0' } },
    ],
    ['no old page after one answer', [user(), user(false, 'v1.5.0')], anybody, { pill: null }],
    [
      'no old page under a dialog',
      [user(false, 'v1.5.0'), user(false, 'v1.5.0')],
      { ...anybody, isDialogOpen: true },
      { pill: null },
    ],
  ])('shows %s', (_, told, surroundings, view) => {
    expect(noticeView(stateAfter(...told), surroundings)).toMatchObject(view);
  });
});
