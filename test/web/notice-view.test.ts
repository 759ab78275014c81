import { describe, expect, it } from 'vitest';
import { englishTexts } from '../../src/presentation/english.ts';
import { buildNoticeView, type NoticeContext } from '../../src/web/model/notice-view.ts';
import type { PageAction } from '../../src/web/model/page-state.ts';
import { endedRun, halfway, onTheWay, path, run, runOf, stateAfter, status } from './state.ts';

const admin: NoticeContext = {
  isAdmin: true,
  pageVersion: 'v1.4.2',
  dismissed: new Set(),
  isDialogOpen: false,
};
const anyone = { ...admin, isAdmin: false };
const user = (updating = false, version = 'v1.4.2'): PageAction => ({
  kind: 'status',
  status: { version, updating },
});
const recalled = { version: 'v1.4.2', why: 'It deletes backups.', url: null };
const urgent = { below: 'v1.4.9', why: 'Sessions can be stolen.' };
const calm = { next: null };
const skipped = { version: 'v1.5.0', since: null };
const noPill = { pill: null };
const pill = (kind: string, label: string, title?: string) => ({
  pill: { kind, label, ...(title !== undefined && { title }) },
});
const automatic = endedRun('updated', { by: 'automatic' });
const after = { version: 'v1.5.0', next: null, run: automatic };
const newPage = { ...admin, pageVersion: '1.5.0' };

describe('a notice', () => {
  it.each<[string, PageAction[], NoticeContext, object]>([
    [
      'the version of the page before the first answer',
      [],
      admin,
      { ...noPill, version: 'v1.4.2', isButton: true },
    ],
    ['the version to users', [user()], anyone, { version: 'v1.4.2', isButton: false, pill: null }],
    ['the same to a user whom the page treats as an admin', [user()], admin, { isButton: false, pill: null }],
    ['an available update', [status()], admin, pill('available', 'Update to v1.5.0')],
    ['the target of an upgrade path', [status(onTheWay)], admin, pill('available', 'Update to v2.0.0')],
    [
      'a recall, and the release to update to',
      [status({ recalled, urgent })],
      admin,
      pill('recalled', 'v1.4.2 was recalled · Update to v1.5.0', recalled.why),
    ],
    [
      'a recall, even if the newer release is skipped',
      [status({ recalled, skipped })],
      admin,
      pill('recalled', 'v1.4.2 was recalled', recalled.why),
    ],
    [
      'a security update',
      [status({ urgent })],
      admin,
      pill('urgent', 'Security update to v1.5.0', urgent.why),
    ],
    [
      'a security update that is not offered yet',
      [status({ ...calm, urgent })],
      admin,
      pill('urgent', 'Security update', urgent.why),
    ],
    ['no skipped security update', [status({ urgent, skipped })], admin, noPill],
    ['no skipped version', [status({ skipped })], admin, { isButton: true, pill: null }],
    ['a failed update', [status({ run: endedRun('failed') })], admin, pill('failed', 'Update failed')],
    ['an update to users', [user(true)], anyone, { isButton: false, ...pill('updating', 'Updating…') }],
    [
      'an update to admins',
      [status(), run(runOf())],
      admin,
      { isButton: true, ...pill('updating', 'Updating… 42 %') },
    ],
    [
      'the position on an upgrade path',
      [status(), run(runOf({ upgradePath: path }))],
      admin,
      pill('updating', 'Updating… 1 of 2'),
    ],
    ['that position between two updates', [halfway()], newPage, pill('updating', 'Updating… 1 of 2')],
    ['an automatic update', [status(after)], newPage, { pill: null, news: automatic }],
    ['no automatic update to an old page', [status(after)], admin, { news: null }],
    [
      'no result of an automatic update that changed nothing',
      [status({ ...calm, run: endedRun('refused', { by: 'automatic' }) })],
      admin,
      { pill: null, news: null },
    ],
    [
      'a reload button on an old page',
      [user(), user(false, 'v1.5.0'), user(false, 'v1.5.0')],
      anyone,
      { version: 'v1.5.0', ...pill('reload', 'Reload for v1.5.0') },
    ],
    ['no reload button after one answer only', [user(), user(false, 'v1.5.0')], anyone, noPill],
    [
      'no reload button while a dialog is open',
      [user(false, 'v1.5.0'), user(false, 'v1.5.0')],
      { ...anyone, isDialogOpen: true },
      noPill,
    ],
  ])('shows %s', (_, told, surroundings, view) => {
    expect(buildNoticeView(stateAfter(...told), surroundings, englishTexts)).toMatchObject(view);
  });
});
