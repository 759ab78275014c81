import type { Page } from 'playwright-core';
import {
  type Script,
  type ScriptedRun,
  type ScriptedStep,
  typicalRollback,
  typicalRun,
} from '../../../src/server/testing/index.ts';
import { createRunWithDefaults } from '../../../src/wire/api-client/parse-responses.ts';
import type { Automatic, Rehearsal, RollbackOffer, Run } from '../../../src/wire/status.ts';
import type { VisitOptions } from './browser.ts';

/** A state of the dialog, how to reach it, and its heading. test/web/dialog-texts.test.ts checks the other texts. */
export interface DialogScene {
  name: string;
  script: () => Script;
  visit?: VisitOptions;
  /** With the dialog open. */
  act?(page: Page): Promise<void>;
  heading: string | RegExp;
}

const minute = 60_000;
const ago = (milliseconds: number): string => new Date(Date.now() - milliseconds).toISOString();
const day = 24 * 60 * minute;

export const anna = { role: 'admin', name: 'anna' } as const;

const notes = [
  '- Deployments show their **queue position**',
  '- Backups resume after a lost connection',
  '- Fixes: cron jobs at midnight ran twice',
].join('\n');

export const latest = {
  version: 'v1.5.0',
  url: 'https://example.org/releases/v1.5.0',
  notes,
  publishedAt: ago(3 * day),
};

export const releases = [
  latest,
  {
    version: 'v1.4.3',
    url: null,
    notes: '- Security: sessions end when a password changes',
    publishedAt: ago(9 * day),
  },
];

/** A completed run. */
export const pastRun = (change: Partial<Run> = {}): Run =>
  createRunWithDefaults({
    id: 'past1',
    state: 'updated',
    phase: 'verify',
    from: 'v1.4.1',
    to: 'v1.4.2',
    startedAt: ago(41 * day),
    endedAt: ago(41 * day - 20_000),
    outcome: 'updated',
    message: 'updated v1.4.1 → v1.4.2',
    downtimeSeconds: 2,
    log: 'docker logs svc-updater',
    by: 'anna',
    ...change,
  });

export const history = [
  pastRun(),
  pastRun({
    id: 'past2',
    outcome: 'failed',
    state: 'failed',
    downtimeSeconds: null,
    by: 'ben',
    startedAt: ago(42 * day),
  }),
  pastRun({ id: 'past3', from: 'v1.4.0', to: 'v1.4.1', by: null, startedAt: ago(90 * day) }),
];

/** A run that reaches a state immediately and stays in it. */
export function staysIn(state: ScriptedStep['state'], step: Partial<ScriptedStep> = {}): ScriptedRun {
  const { steps } = typicalRun(state === 'save' ? { outcome: 'updated', in: state } : undefined);
  const before = steps.findIndex((one) => one.state === state);
  // A page must be connected before the state that disconnects it begins.
  const seconds = step.disturbed === undefined ? 0.02 : 0.4;
  const quick = steps.slice(0, Math.max(0, before)).map((one) => ({ ...one, seconds }));
  const own = steps.find((one) => one.state === state) ?? { state, seconds: 1, says: [state] };
  const { disturbed: _, ...calm } = own;
  return { steps: [...quick, { ...calm, ...step, seconds: 600 }], end: { outcome: 'updated' } };
}

const standing: Script = { status: { latest }, releases, history, authorize: () => anna };
const scene = (script: Script): Script => ({
  ...standing,
  ...script,
  status: { ...standing.status, ...script.status },
});

const open = (run: ScriptedRun, script: Script = {}) => scene({ ...script, open: run });
/** For states that a page shows only if it has seen the run before. */
const started = (run: ScriptedRun, script: Script = {}) => scene({ ...script, runs: [run] });

const jobs = [
  {
    kind: 'deployment',
    state: 'running',
    title: 'web to production',
    since: ago(2 * minute + 5_000),
    stuck: false,
  },
  { kind: 'deployment', state: 'queued', title: 'web to staging', since: ago(minute), stuck: false },
] as const;
/** A script whose last run has ended. */
const ended = (change: Partial<Run>): Script =>
  scene({
    history: [
      pastRun({
        id: 'last',
        from: 'v1.4.2',
        to: 'v1.5.0',
        startedAt: ago(5 * minute),
        downtimeSeconds: null,
        ...change,
      }),
      ...history,
    ],
  });

const withClock: VisitOptions = { prepare: (page) => page.clock.install() };

const problem = (status: number, title: string, detail: string): Response =>
  new Response(JSON.stringify({ type: 'about:blank', title, status, detail }), {
    status,
    headers: { 'Content-Type': 'application/problem+json' },
  });

const press = (name: string) => (page: Page) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
const behind = [
  { name: 'build-1', version: 'v1.5.0', outdated: false, command: 'svc update' },
  {
    name: 'build-2',
    version: 'v1.4.0',
    outdated: true,
    command: 'curl -fLO https://example.org/svc-worker && systemctl --user restart svc-worker',
  },
];

const quickEnd = (end: ScriptedRun['end'], step: Partial<ScriptedStep> = {}): ScriptedRun => ({
  steps: [{ state: 'recreate', seconds: 1, ...step }],
  end,
});

const failedRehearsal: Rehearsal = {
  version: 'v1.5.0',
  state: 'failed',
  startedAt: ago(5 * minute),
  endedAt: ago(2 * minute),
  by: 'anna',
  message:
    'v1.5.0 did not become ready on a copy of the data: app exited with code 1: migration 0042 failed: column "host" already exists',
  advice: 'Find the error of the new version in the log, and report it to the publisher.',
  readySeconds: null,
  log: 'docker logs svc-updater-rehearsal-svc',
};

const savedAt = ago(3 * day);
const offer: RollbackOffer = { from: 'v1.4.2', to: 'v1.4.1', at: savedAt, downtimeSeconds: 9 };
const point = { at: savedAt, version: 'v1.4.1', bytes: 325_000_000, downtimeSeconds: 12 };
/** After an update that saved a restore point. */
export const afterSaved = (script: Script = {}): Script =>
  scene({
    status: { latest: { ...latest, version: 'v1.4.2' }, next: null },
    history: [pastRun({ restorePoint: point, startedAt: savedAt }), ...history.slice(1)],
    rollback: offer,
    rollbacks: [typicalRollback({ outcome: 'updated', version: 'v1.4.1' })],
    ...script,
  });
const recalled = { version: 'v1.4.2', why: 'It deletes backups.', url: 'https://example.org/recall' };
const ahead = { code: 'ahead', message: 'v1.4.2 is newer than the newest release on stable' } as const;
const rollingOut =
  'v1.5.0 is being rolled out to 10% of all instances, but not to this one yet; to install it now, check for updates again';
const askRollback = async (page: Page): Promise<void> => {
  await page.locator('svc-update-dialog summary').click();
  await press('Roll back to v1.4.1…')(page);
};
const offerHeading = /^v1\.4\.1 with the data from \d+ \w+, \d\d:\d\d:\d\d$/;

export const automatic: Automatic = {
  enabled: true,
  from: '02:00',
  to: '05:00',
  timeZone: 'Europe/Berlin',
  days: ['mon', 'tue'],
  minAgeHours: 72,
  includeMajors: false,
  rehearse: false,
  nextAt: ago(-30_000),
  blockedBy: null,
};
const toV2 = { ...latest, version: 'v2.0.0' };
/** Two updates are needed to reach the latest release. */
export const twoUpdates: Script = {
  ...standing,
  status: { latest: toV2, next: { version: 'v1.5.0', major: false, upgradePath: ['v1.5.0', 'v2.0.0'] } },
  releases: [],
};
const quick: ScriptedRun = { steps: [{ state: 'pull', seconds: 0.2 }], end: { outcome: 'updated' } };
const pendingReason = { seconds: 600, reason: 'old builds are being moved, 40 of 214' };

export const scenes: DialogScene[] = [
  {
    name: 'nothing-to-do',
    script: () =>
      scene({
        status: {
          next: null,
          checkedAt: ago(3 * minute),
          upToDate: { code: 'newest', message: 'v1.4.2 is the newest on stable.' },
        },
      }),
    heading: 'v1.4.2 is running',
  },
  {
    name: 'available',
    script: () => scene({}),
    heading: 'v1.5.0 is available',
  },
  {
    name: 'rehearsal-running',
    script: () => scene({ speed: 0.01 }),
    act: press('Try on a copy'),
    heading: 'v1.5.0 is available',
  },
  {
    name: 'rehearsal-failed',
    script: () => scene({ status: { rehearsal: failedRehearsal } }),
    heading: 'v1.5.0 is available',
  },
  {
    name: 'recalled',
    script: () => afterSaved({ status: { next: null, recalled, upToDate: ahead } }),
    heading: 'v1.4.2 is running',
  },
  {
    name: 'recalled-urgent-stale',
    script: () =>
      scene({
        status: {
          recalled,
          urgent: { below: 'v1.4.9', why: 'Sessions of other users can be stolen with a link.' },
          feedError: {
            message: 'channel.json expired at 2026-11-24T08:00:00Z',
            nextCheckAt: ago(-minute),
            staleSince: ago(3 * day),
          },
        },
      }),
    heading: 'v1.5.0 is available',
  },
  {
    name: 'rolling-out',
    script: () =>
      scene({
        status: {
          next: null,
          upToDate: { code: 'rolling-out', message: rollingOut },
        },
        afterRefresh: { next: { version: 'v1.5.0', major: false }, upToDate: null },
      }),
    heading: 'v1.4.2 is running',
  },
  {
    name: 'available-long-notes',
    script: () =>
      scene({
        history: [],
        releases: [
          { ...latest, notes: Array.from({ length: 40 }, (_, at) => `- Change number ${at + 1}`).join('\n') },
        ],
      }),
    heading: 'v1.5.0 is available',
  },
  {
    name: 'not-started',
    script: () =>
      scene({
        intercept: ({ method }) =>
          method === 'POST'
            ? problem(503, 'Service Unavailable', 'The job queue does not answer')
            : undefined,
      }),
    act: press('Update now'),
    heading: 'Nothing was started',
  },
  {
    name: 'jobs',
    script: () => scene({ jobs }),
    heading: '1 job is running · 1 job is queued',
  },
  {
    name: 'jobs-anyway',
    script: () => scene({ jobs }),
    act: press('Update anyway…'),
    heading: '1 job is running · 1 job is queued',
  },
  {
    name: 'not-possible',
    script: () =>
      scene({
        status: {
          reason: { code: 'no-engine', message: "svc runs without the engine's socket" },
          manual: [
            'docker run --rm --name svc-updater --stop-timeout 120 -v /var/run/docker.sock:/var/run/docker.sock -v "$PWD:$PWD" ghcr.io/acme/svc-updater:1.0.0 --target v1.5.0',
          ],
        },
      }),
    heading: 'v1.5.0 is available',
  },
  {
    name: 'waiting',
    script: () =>
      open({
        steps: [{ state: 'waiting', seconds: 600, jobs: [...jobs], until: ago(-40 * minute) }],
        end: { outcome: 'updated' },
      }),
    heading: 'Waiting for 2 jobs',
  },
  {
    name: 'pulling',
    script: () => open(staysIn('pull', { says: [{ message: 'pulling, 51 of 120 MB', percent: 42 }] })),
    heading: 'v1.4.2 → v1.5.0',
  },
  {
    name: 'restarting',
    script: () => started(staysIn('recreate', { disturbed: 'closed' })),
    visit: withClock,
    act: press('Update now'),
    heading: 'svc is restarting…',
  },
  {
    name: 'updated',
    visit: { attributes: 'admin version="v1.4.2"', prepare: stays },
    script: () =>
      started(
        quickEnd(
          { outcome: 'updated' },
          { says: [{ message: 'the worker has no health check', level: 'warn' }] },
        ),
        {
          status: { buildServers: behind },
        },
      ),
    act: press('Update now'),
    heading: 'Updated to v1.5.0',
  },
  {
    name: 'failed',
    script: () =>
      ended({
        outcome: 'failed',
        state: 'failed',
        phase: 'pull',
        message: 'nothing was changed; v1.4.2 is still running',
        cause: 'ghcr.io/acme/svc:v1.5.0: the registry has no such tag',
        code: 'pull-unknown',
        advice: 'Check that v1.5.0 is published for linux/amd64, then run the update again.',
      }),
    heading: 'The update failed',
  },
  {
    name: 'refused',
    script: () =>
      ended({
        outcome: 'refused',
        state: 'refused',
        log: null,
        message: 'pg_dump: no space left on device',
        code: null,
        warnings: ['the worker has no health check', 'a container of the project was stopped'],
      }),
    heading: 'The update was refused',
  },
  {
    name: 'broken',
    script: () =>
      ended({
        outcome: 'broken',
        state: 'broken',
        phase: 'verify',
        message:
          'v1.5.0 was started but is unhealthy; it was not rolled back because its migrations may have run',
        cause: 'worker exited with code 1, restarted 5 times: fatal: cannot reach queue at redis:6379',
        code: 'broken',
        advice: 'Read the output of docker compose -p svc logs worker, fix the cause, then check again.',
      }),
    heading: 'v1.5.0 was installed but is unhealthy',
  },
  {
    name: 'available-major-saved',
    visit: { attributes: 'admin version="v1.4.2" dump-url="/backups"' },
    script: () =>
      scene({
        status: {
          latest: { ...latest, version: 'v2.0.0' },
          next: { version: 'v2.0.0', major: true },
          restorePoint: { downtimeSeconds: 12 },
        },
        releases: [],
      }),
    heading: 'v2.0.0 is available',
  },
  {
    name: 'rollback',
    script: () => afterSaved(),
    act: askRollback,
    heading: offerHeading,
  },
  {
    name: 'rollback-confirm',
    script: () => afterSaved({ jobs }),
    act: async (page) => {
      await askRollback(page);
      await press('Roll back…')(page);
    },
    heading: offerHeading,
  },
  {
    name: 'rollback-refused',
    script: () =>
      afterSaved({
        rollback: {
          code: 'rollback-refused',
          message: 'compose.yaml was edited after the update',
          refusal: 'modified-since',
          advice: 'Undo the edit, then run the rollback again.',
        },
      }),
    act: askRollback,
    heading: 'svc cannot be rolled back to v1.4.1 now',
  },
  {
    name: 'path',
    script: () => twoUpdates,
    heading: 'v2.0.0 is available',
  },
  {
    name: 'path-between',
    script: () => ({ ...twoUpdates, pendingSteps: [pendingReason], runs: [quick] }),
    act: press('Update to v2.0.0'),
    heading: 'svc v1.5.0 is not ready for the next update yet',
  },
];

/** Prevents the automatic reload. */
async function stays(page: Page): Promise<void> {
  await page.addInitScript("addEventListener('svc-update-reload', (event) => event.preventDefault())");
}
