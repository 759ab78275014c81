import { expect, it } from 'vitest';
import { englishTexts } from '../../src/presentation/english.ts';
import { createTextsAndFormats } from '../../src/presentation/texts-and-formats.ts';
import type { VNode, VNodeChild } from '../../src/web/dom/vnode.ts';
import { selectDialogPresentation } from '../../src/web/model/dialog-presentation.ts';
import type { PageAction, PageState } from '../../src/web/model/page-state.ts';
import type { DialogContext, DialogState } from '../../src/web/views/components.ts';
import { applyConfirmationContent, renderDialogContent } from '../../src/web/views/dialog-content.ts';
import { renderHistorySection } from '../../src/web/views/history-section.ts';
import type { AddedReleaseSetting, BlockingJob, Rehearsal, Run, Status } from '../../src/wire/status.ts';
import {
  begin,
  endedRun,
  halfway,
  latestOf,
  nothing,
  onTheWay,
  page,
  path,
  run,
  runOf,
  stateAfter,
  status,
  statusOf,
} from './state.ts';

// The texts and buttons of each dialog state. test/slow/web-states.test.ts covers its appearance.

interface Look {
  /** Milliseconds since the page was opened; by default one second for each action. */
  now?: number;
  local?: DialogState;
}

const begun = Date.parse(begin);
const minute = 60_000;
const ago = (milliseconds: number): string => new Date(begun - milliseconds).toISOString();
const days = (count: number): number => count * 1440 * minute;
const past: PageAction = { kind: 'history', runs: [endedRun('updated', { id: 'past', downtimeSeconds: 2 })] };
const offer = 'Update now | Try on a copy | Skip this version | Check again';
const afterFailure = 'Try again | Check again | Copy report | Close';
const recalled = { version: 'v1.4.2', why: 'it deletes backups', url: 'https://example.org/recall' };
const covered: PageAction = {
  kind: 'history',
  runs: [
    endedRun('updated', {
      id: 'past',
      from: 'v1.4.1',
      to: 'v1.4.2',
      restorePoint: { at: ago(minute), version: 'v1.4.1', bytes: 1, downtimeSeconds: 9 },
    }),
  ],
};
const noWayBack =
  'No newer release is available, and this version cannot be rolled back because there is no restore point. Install the next release as soon as it is published.';
const rollingOut =
  'v1.5.0 is being rolled out to 10% of all instances, but not to this one yet; to install it now, check for updates again';
const stale = { message: 'channel.json expired at noon', nextCheckAt: begin, staleSince: ago(days(3)) };
const staleWords = /Release information has been out of date since \d+ \w+ channel\.json expired at noon\./;
const savedFirst = (to: string) =>
  `Data is saved first. If ${to} fails, svc rolls back to v1.4.2 and restores the data.`;
const allUnavailable = 'svc will be unavailable for about 12 s (based on the last update).';

const jobs: BlockingJob[] = [
  { kind: 'deployment', state: 'running', title: 'web to production', since: ago(125_000), stuck: false },
  { kind: 'deployment', state: 'queued', title: 'web to staging', since: ago(minute), stuck: false },
];
const stuck: BlockingJob = {
  kind: 'backup',
  state: 'running',
  title: 'nightly',
  since: ago(41 * minute),
  stuck: true,
};
const blockedBy = (...jobs: BlockingJob[]) =>
  status({ reason: { code: 'deployment-running', message: 'jobs', jobs } });
const pressed: PageAction = { kind: 'pressed', to: 'v1.5.0' };

/** A run that has been in this state since its start. */
const on = (state: Run['state'], change: Partial<Run> = {}): PageAction =>
  run(
    runOf({
      state,
      message: 'pulling, 51 of 120 MB',
      steps: [{ state, startedAt: begin, endedAt: null, message: '' }],
      ...change,
    }),
  );
const ended = (outcome: string, change: Partial<Run> = {}): PageAction =>
  status({ run: endedRun(outcome as Run['outcome'], change) });

const rehearsal = (change: Partial<Rehearsal>): Rehearsal => ({
  ...{ version: 'v1.5.0', state: 'failed', startedAt: ago(2 * minute), endedAt: ago(minute), by: 'anna' },
  ...{ message: 'app exited with code 1', advice: null, readySeconds: null, log: null },
  ...change,
});

const savedAt = ago(days(3));
const rollback = (state: object): PageAction => ({ kind: 'rollback', rollback: state as never });
const offered = rollback({
  kind: 'offer',
  offer: { from: 'v1.4.2', to: 'v1.4.1', at: savedAt, downtimeSeconds: 9 },
});
const offerHeading = /^v1\.4\.1 with the data from \d+ \w+, \d\d:\d\d:\d\d$/;
const replaced =
  /All changes since \d+ \w+, \d\d:\d\d:\d\d will be discarded\. The current data is saved first\./;
const back: Partial<Run> = { kind: 'rollback', to: 'v1.4.1' };

it.each<
  [
    string,
    told: PageAction[],
    words: [heading: string | RegExp, ...(string | RegExp)[]],
    buttons: string,
    Look?,
  ]
>([
  [
    'nothing to do',
    [
      status({
        next: null,
        checkedAt: ago(3 * minute),
        upToDate: { code: 'newest', message: 'v1.4.2 is the newest on stable.' },
      }),
      past,
    ],
    [
      'v1.4.2 is running',
      'v1.4.2 is the newest on stable. Checked 3 min ago.',
      /Channel: stable · last update .*, v1.4.2 → v1.5.0, 2 s downtime/,
    ],
    'Check again',
  ],
  [
    'a rehearsal that is running',
    [
      status({
        rehearsal: rehearsal({ state: 'running', endedAt: null, message: 'copying the data (1.2 GB)' }),
      }),
    ],
    [
      'v1.5.0 is available',
      'Rehearsing v1.5.0 on a copy of the data…',
      'Copying the data (1.2 GB).',
      'Started 2 min ago.',
    ],
    'Update now | Cancel rehearsal | Skip this version | Check again',
  ],
  [
    'a rehearsal that was successful, and the expected downtime',
    [
      status({
        rehearsal: rehearsal({ state: 'succeeded', readySeconds: 43, message: 'it became ready after 43 s' }),
      }),
    ],
    [
      'v1.5.0 is available',
      'The rehearsal of v1.5.0 succeeded',
      'It became ready after 43 s.',
      'Rehearsed 1 min ago.',
      'svc will be unavailable for at least 43 s (based on the rehearsal).',
    ],
    offer,
  ],
  [
    'a skipped version',
    [status({ skipped: { version: 'v1.5.0', since: null } })],
    ['v1.5.0 is available', 'You skipped v1.5.0.'],
    'Offer again | Check again',
  ],
  [
    'a rehearsal that failed',
    [status({ rehearsal: rehearsal({ state: 'failed', advice: 'See its log.' }) })],
    ['v1.5.0 is available', 'The rehearsal of v1.5.0 failed', 'App exited with code 1.', 'See its log.'],
    offer,
  ],
  [
    'a rehearsal without a result',
    [status({ rehearsal: rehearsal({ state: 'inconclusive' }) })],
    ['v1.5.0 is available', 'The rehearsal of v1.5.0 had no result'],
    offer,
  ],
  [
    'a rehearsal that was cancelled',
    [status({ rehearsal: rehearsal({ state: 'cancelled', message: 'nothing was changed' }) })],
    ['v1.5.0 is available', 'The rehearsal of v1.5.0 was cancelled'],
    offer,
  ],
  [
    'a state of a rehearsal that the page does not know',
    [status({ rehearsal: rehearsal({ state: 'parked' as never }) })],
    ['v1.5.0 is available', 'App exited with code 1.'],
    offer,
  ],
  [
    'that the running version was recalled, and a rollback as the way out',
    [status({ next: null, recalled }), covered],
    ['v1.4.2 is running', 'v1.4.2 was recalled It deletes backups. More information'],
    'Roll back to v1.4.1… | Check again',
  ],
  [
    'that there is no way out of a recalled version yet',
    [status({ next: null, recalled }), past],
    ['v1.4.2 is running', 'It deletes backups.', noWayBack],
    'Check again',
  ],
  [
    'that the running version was recalled, and the release to update to',
    [status({ recalled }), covered],
    ['v1.5.0 is available', 'v1.4.2 was recalled It deletes backups. More information'],
    offer,
  ],
  [
    'that the running version was recalled while jobs block the update',
    [status({ recalled, reason: { code: 'backup-running', message: 'x', jobs: [stuck] } })],
    ['1 job is running', 'v1.4.2 was recalled', '41 min, stuck'],
    'Check again | Try on a copy | Update anyway…',
  ],
  [
    'why an update is a security update',
    [status({ urgent: { below: 'v1.4.9', why: 'sessions can be stolen' } })],
    [
      'v1.5.0 is available',
      'Security update Sessions can be stolen. All versions before v1.4.9 are affected.',
    ],
    offer,
  ],
  [
    'since when the release information is out of date, beside an offer',
    [status({ feedError: stale })],
    ['v1.5.0 is available', staleWords],
    offer,
  ],
  [
    'since when the release information is out of date, without an offer',
    [status({ next: null, feedError: stale })],
    [
      'v1.4.2 is running',
      staleWords,
      /expired at noon\. No update is available\. Checked 0 s ago\. Check again/,
    ],
    'Check again',
  ],
  [
    'what Check again does during a rollout',
    [status({ next: null, upToDate: { code: 'rolling-out', message: rollingOut } })],
    ['v1.4.2 is running', `${rollingOut}. Checked 0 s ago. Check again`],
    'Check again',
  ],
  [
    'that data is saved first',
    [status({ restorePoint: { downtimeSeconds: 12 } })],
    ['v1.5.0 is available', savedFirst('v1.5.0'), allUnavailable],
    offer,
  ],
  [
    'an upgrade path',
    [status(onTheWay)],
    [
      'v2.0.0 is available',
      'v1.4.2 v1.5.0 v2.0.0',
      '2 updates are required.',
      'Migrations cannot be undone.',
    ],
    'Update to v2.0.0 | Try on a copy | Skip this version | Check again',
  ],
  [
    'that the offered version has failed before',
    [
      status(),
      {
        kind: 'history',
        runs: [
          endedRun('updated', { id: 'back', kind: 'rollback', to: 'v1.4.2' }),
          endedRun('failed', {
            id: 'past',
            cause: 'app exited with code 1',
            rolledBack: { version: 'v1.4.2', at: ago(5 * minute) },
          }),
        ],
      },
    ],
    ['v1.5.0 is available', 'v1.5.0 failed: app exited with code 1', 'Rolled back to v1.4.2 with the data'],
    offer,
  ],
  [
    'jobs that block the update',
    [blockedBy(...jobs)],
    [
      '1 job is running · 1 job is queued',
      'web to production 2 min',
      'web to staging queued',
      'svc can wait until these jobs have finished',
    ],
    'Update when idle | Check again | Try on a copy | Update anyway…',
  ],
  [
    'a stuck job',
    [blockedBy(stuck)],
    ['1 job is running', '41 min, stuck', 'Stuck jobs do not finish on their own'],
    'Check again | Try on a copy | Update anyway…',
  ],
  [
    'which jobs will be interrupted',
    [blockedBy(...jobs, stuck)],
    [
      '2 jobs are running · 1 job is queued',
      'These jobs will be interrupted: deployment web to production backup nightly',
    ],
    'Back | Interrupt jobs and update',
    { local: { isConfirming: true } },
  ],
  [
    'that no update is possible here',
    [
      status({
        reason: { code: 'no-engine', message: "svc runs without the engine's socket" },
        manual: ['docker run acme/svc-updater:1 --target v1.5.0'],
        releases: [{ ...latestOf('v1.5.0'), notes: 'Builds are twice as fast.' }],
      }),
    ],
    [
      'v1.5.0 is available',
      'You are running v1.4.2',
      'svc cannot be updated from this page',
      "svc runs without the engine's socket.",
      'docker run acme/svc-updater:1 --target v1.5.0',
      'Builds are twice as fast.',
    ],
    'Check again',
  ],
  [
    'a reason that the page does not know',
    [status({ reason: { code: 'moon-phase' as never, message: 'the moon is not full' } })],
    ['v1.5.0 is available', 'svc cannot be updated from this page', 'The moon is not full.'],
    'Check again',
  ],
  [
    'which jobs the update waits for',
    [status(), on('waiting', { jobs, until: ago(-40 * minute) })],
    [
      'Waiting for 2 jobs',
      /Waiting until \d\d:\d\d at the latest\. New jobs stay queued\./,
      'web to production',
      /Waiting 0:\d\d/,
    ],
    'Cancel',
  ],
  [
    'a pull',
    [status(), on('pull')],
    [
      'v1.4.2 → v1.5.0',
      /Started by anna at \d\d:\d\d · you can close this dialog at any time/,
      'Downloading 51 of 120 MB',
      'Nothing has been changed yet',
    ],
    'Cancel',
  ],
  [
    'why a run was cancelled, in its own message',
    [ended('cancelled', { message: 'the server was stopped; nothing was changed' })],
    ['Cancelled', 'The server was stopped; nothing was changed.'],
    'Close',
  ],
  [
    'the running version after a cancelled run without a message',
    [ended('cancelled', { message: '', cancelRequestedBy: 'anna' })],
    ['Cancelled by anna', 'Nothing was changed; v1.4.2 is still running.'],
    'Close',
  ],
  [
    'that it is too late to cancel',
    [status(), on('recreate')],
    ['v1.4.2 → v1.5.0', 'Replacing', 'The update can no longer be cancelled.'],
    '',
  ],
  [
    'that data is copied',
    [status({ restorePoint: { downtimeSeconds: 12 } }), on('save')],
    ['v1.4.2 → v1.5.0', 'Saving data', `Copying data; svc is still available. ${allUnavailable}`],
    'Cancel',
  ],
  [
    'a state that the page does not know, in a channel that it does not know',
    [status({ channel: 'nightly' as never }), on('reticulate' as never, { message: 'reticulating splines' })],
    ['v1.4.2 → v1.5.0', 'Reticulating splines.', 'Channel: nightly'],
    '',
  ],
  [
    'an upgrade path that waits for the platform',
    [halfway()],
    [
      'svc v1.5.0 is not ready for the next update yet',
      '1 of 2 · 1:00 · you can close this dialog at any time',
      'Not yet.',
      /If svc is not ready by \d\d:\d\d, the update to v2\.0\.0 will not start\./,
    ],
    'Cancel',
    { now: 61_000 },
  ],
  [
    'that svc is restarting',
    [status(onTheWay), on('recreate', { upgradePath: path }), nothing],
    [
      'svc is restarting…',
      'Waiting for svc. This page reconnects automatically.',
      '1 of 2 · v1.4.2 → v1.5.0',
      'The update can no longer be cancelled.',
    ],
    '',
  ],
  [
    'a long restart',
    [status(), on('verify'), page(502)],
    ['svc is restarting…', '1:15', 'On the server: docker logs svc-updater'],
    '',
    { now: 78_000 },
  ],
  [
    'no answer',
    [status(), on('pull'), nothing],
    [
      'No response from svc',
      'No response for 12 s. Check your connection. The update continues on the server.',
    ],
    '',
    { now: 15_000 },
  ],
  [
    'that a different page answers',
    [status(), on('pull'), page(200), page(200)],
    ['This address now shows a different page, possibly a login page'],
    'Reload',
    { now: 20_000 },
  ],
  [
    'that the server has no record of the run',
    [status(), on('recreate'), { kind: 'unknown' }],
    [
      /^The server \(v1\.4\.2\) has no record of the update that started at \d\d:\d\d$/,
      'docker logs svc-updater',
    ],
    'Close',
  ],
  [
    'what a rollback would replace',
    [status(), offered],
    [offerHeading, replaced, 'svc will be unavailable for about 9 s (a guess).'],
    'Roll back… | Close',
  ],
  [
    'what a rollback would replace and interrupt, before it is confirmed',
    [blockedBy(...jobs), offered],
    [offerHeading, replaced, 'These jobs will be interrupted: deployment web to production'],
    'Cancel | Roll back to v1.4.1',
    { local: { isConfirming: true } },
  ],
  [
    'a rollback that is refused',
    [
      status(),
      rollback({
        kind: 'refused',
        to: 'v1.4.1',
        problem: {
          status: 409,
          detail: 'x',
          reason: {
            code: 'rollback-refused',
            message: 'compose.yaml was edited after the update',
            refusal: 'modified-since',
            advice: 'Undo the edit, then run the rollback again.',
          },
        },
      }),
    ],
    [
      'svc cannot be rolled back to v1.4.1 now',
      'compose.yaml was edited after the update. modified-since',
      'Next: Undo the edit',
    ],
    'Check again | Close',
  ],
  [
    'a successful update',
    [
      status({
        buildServers: [
          { name: 'build-1', version: 'v1.5.0', outdated: false, command: 'svc update' },
          { name: 'build-2', version: 'v1.4.0', outdated: true, command: 'svc update' },
        ],
      }),
      on('verify'),
      run(endedRun('updated', { warnings: ['the worker has no health check'] })),
    ],
    ['Updated to v1.5.0', 'build-2 is running v1.4.0', 'the worker has no health check'],
    'Reload now',
  ],
  [
    'a failure with its cause, code and advice',
    [
      ended('failed', {
        message: 'nothing was changed; v1.4.2 is still running',
        cause: 'the registry has no such tag',
        code: 'pull-unknown',
        advice: 'Check that v1.5.0 is published.',
      }),
    ],
    [
      'The update failed',
      'Nothing was changed; v1.4.2 is still running.',
      'The registry has no such tag. pull-unknown',
      'Next: Check that v1.5.0 is published.',
      'docker logs svc-updater',
    ],
    afterFailure,
  ],
  [
    'an update that was rolled back',
    [
      ended('failed', {
        cause: 'app exited with code 1',
        code: 'rolled-back',
        advice: 'Wait for the next release.',
        rolledBack: { version: 'v1.4.2', at: ago(5 * minute) },
      }),
    ],
    [
      'v1.5.0 failed: app exited with code 1',
      /Rolled back to v1\.4\.2 with the data saved at \d\d:\d\d:\d\d\. Next: Wait for the next release\./,
    ],
    afterFailure,
  ],
  [
    'an unhealthy new version',
    [ended('broken', { code: 'broken', message: 'its migrations may have run' })],
    ['v1.5.0 was installed but is unhealthy', 'Its migrations may have run.', 'v1.4.2 is now running.'],
    afterFailure,
  ],
  [
    'an outcome that the page does not know',
    [ended('parked', { message: 'the update was parked until midnight' })],
    ['The update was parked until midnight'],
    'Close | Copy report',
  ],
])(
  'a dialog shows %s',
  (_, told, [heading, ...words], buttons, { now = told.length * 1000, local = {} } = {}) => {
    const state = stateAfter(...told);
    const context = contextOf(local);
    const [, body, actions] = nodesAt(state, now, context);
    const all = textOf([body, actions, renderHistorySection(state, context)]);
    expect(found('h3', body).map(textOf)[0]).toMatch(exactly(heading));
    for (const said of words) expect(all).toMatch(said);
    // The page does not know whether the product has a job queue or data services.
    const hasJobs = JSON.stringify(told).includes('"stuck":');
    if (!hasJobs) expect(all).not.toMatch(/\bjobs?\b|queue|database|data services/i);
    expect(found('button', actions).map(textOf).join(' | ')).toBe(buttons);
    const downloads = found('a', actions).filter(({ attributes }) => attributes.href === '/report');
    expect(downloads.map(textOf)).toEqual(buttons.includes('Copy report') ? ['Download report'] : []);
  },
);

const settings = [
  setting('SMTP_HOST', { description: 'Mail server' }),
  setting('SMTP_PASSWORD', { secret: true, default: 'secret' }),
  setting('SMTP_PORT', { required: false, default: '25' }),
  setting('TOKEN', { generated: true }),
  setting('DOMAIN', { isSet: true }),
];
const withSettings = { next: { ...statusOf().next, version: 'v1.5.0', settings } as Status['next'] };

it.each<[string, PageAction, string]>([
  ['an update that is available', status(withSettings), offer],
  [
    'an update that waits for jobs',
    status({ ...withSettings, reason: { code: 'job-running', message: 'jobs', jobs: [...jobs] } }),
    'Update when idle | Check again | Try on a copy | Update anyway…',
  ],
])('%s has fields for the new settings without a value', (_, told, buttons) => {
  const changes: DialogState[] = [];
  const local: DialogState = { values: { SMTP_HOST: 'mail', SMTP_PORT: '' }, lacking: 'SMTP_HOST' };
  const context = { ...contextOf(local), set: (change: DialogState) => void changes.push(change) };
  const [, body, actions] = nodesAt(stateAfter(told), 0, context);
  expect(found('button', actions).map(textOf).join(' | ')).toBe(buttons);
  expect(found('label', body).map(textOf)).toEqual([
    'SMTP_HOST (required) Mail server',
    'SMTP_PASSWORD (required)',
    'SMTP_PORT',
  ]);
  expect(textOf(body)).toContain('Enter a value for SMTP_HOST.');
  const fields = found('input', body).map(({ attributes }) => attributes);
  const shown = { spellcheck: 'false', autocomplete: 'off', 'aria-invalid': false, required: false };
  expect(fields).toMatchObject([
    { ...shown, name: 'SMTP_HOST', type: 'text', value: 'mail', 'aria-invalid': 'true', required: true },
    { name: 'SMTP_PASSWORD', type: 'password', value: undefined, autocomplete: 'new-password' },
    { ...shown, name: 'SMTP_PORT', type: 'text', value: '', placeholder: '25' },
  ]);
  (fields[2] as { oninput(event: object): void } | undefined)?.oninput({ target: { value: '587' } });
  expect(changes).toEqual([{ values: { SMTP_HOST: 'mail', SMTP_PORT: '587' }, lacking: undefined }]);
});

it('the title of a dialog matches the operation', () => {
  const titleOf = (...told: PageAction[]) =>
    textOf(nodesAt(stateAfter(...told), told.length * 1000, contextOf({}))[0]);
  expect(titleOf(status(), on('pull'))).toBe('Updating svc');
  expect(titleOf(status(), offered)).toBe('Roll back svc');
  expect(titleOf(status(), on('inspect', back))).toBe('Rolling back svc');
  expect(titleOf(status(), on('recreate', back), nothing)).toBe('Rolling back svc');
});

it('a dialog has no start or rollback button while a request is pending', () => {
  const point = { at: savedAt, version: 'v1.4.1', bytes: 1, downtimeSeconds: 9 };
  const history: PageAction = {
    kind: 'history',
    runs: [endedRun('updated', { id: 'past', restorePoint: point })],
  };
  const buttonsAfter = (...told: PageAction[]) => {
    const state = stateAfter(status(), history, ...told);
    const [, body, actions] = nodesAt(state, 0, contextOf({}));
    return found('button', [body, actions, renderHistorySection(state, contextOf({}))]).map(textOf);
  };
  expect(buttonsAfter()).toEqual([
    'Update now',
    'Try on a copy',
    'Skip this version',
    'Check again',
    'Roll back to v1.4.1…',
  ]);
  expect(buttonsAfter(pressed, status())).toEqual([]);
  expect(buttonsAfter(pressed, { kind: 'closed' })).toEqual([]);
});

function setting(name: string, more: Partial<AddedReleaseSetting>): AddedReleaseSetting {
  const usual = { required: true, secret: false, default: null, generated: false, isSet: false };
  return { name, description: '', ...usual, ...more };
}

const ignore = () => {};
const contextOf = (local: DialogState): DialogContext => ({
  t: createTextsAndFormats(englishTexts, begun),
  local,
  settingsUrl: '/settings',
  reportUrl: '/report',
  press: ignore,
  copy: ignore,
  set: ignore,
});

/** The header, body and buttons of the dialog. */
function nodesAt(state: PageState, now: number, context: DialogContext): readonly VNodeChild[] {
  const server = state.clock === null ? null : state.clock.server + now - state.clock.counter;
  const page = { now, dismissed: new Set<string>(), backupPage: '/backups' };
  const shown = selectDialogPresentation(state, page, createTextsAndFormats(englishTexts, server));
  return renderDialogContent(
    applyConfirmationContent(shown, context),
    { closing: 'Close', close: ignore },
    context,
  );
}

const nodesOf = (child: VNodeChild | VNode['children']): (VNode | string)[] =>
  Array.isArray(child) ? child.flatMap(nodesOf) : child ? [child as VNode | string] : [];

function textOf(child: VNodeChild | VNode['children']): string {
  const pieces = nodesOf(child).map((node) => (typeof node === 'string' ? node : textOf(node.children)));
  return pieces.join(' ').replace(/\s+/g, ' ').trim();
}

const found = (tag: string, child: VNodeChild | VNode['children']): VNode[] =>
  nodesOf(child).flatMap((node) =>
    typeof node === 'string' ? [] : [...(node.tag === tag ? [node] : []), ...found(tag, node.children)],
  );

const exactly = (heading: string | RegExp): RegExp =>
  heading instanceof RegExp ? heading : new RegExp(`^${heading.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
