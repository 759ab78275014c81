import { describe, expect, it } from 'vitest';
import type { ObjectSchema } from '../../src/wire/response-fields.ts';
import * as shapes from '../../src/wire/status.ts';
import { expectValid } from '../server/http/send-request.ts';

const answers = Object.values(shapes);
const at = '2026-11-21T10:42:07.000Z';
const job = { kind: 'backup', state: 'queued', title: 'nightly', since: at, stuck: true };
const reason = {
  code: 'backup-running',
  message: 'A backup runs.',
  since: at,
  jobs: [job],
  refusal: 'modified-since',
  advice: 'See to it.',
};
const release = { version: 'v1.5.0', url: 'https://x.test', notes: 'New.', publishedAt: at };
const setting = {
  ...{ name: 'SMTP_HOST', description: 'Mail server', required: true, secret: true },
  ...{ default: 'localhost', generated: true, isSet: true },
};
const next = {
  version: 'v1.5.0',
  major: true,
  downloaded: true,
  estimatedSeconds: 12,
  upgradePath: ['v1.5.0', 'v2.0.0'],
  settings: [setting],
};
const blockedBy = { code: 'paused', message: 'The update to v1.4.1 ended badly.', since: at };
const automatic = {
  ...{ enabled: true, from: '02:00', to: '05:00', timeZone: 'Europe/Berlin', days: ['sat'] },
  ...{ minAgeHours: 72, includeMajors: true, rehearse: true, nextAt: at, blockedBy },
};
const pendingStep = { to: 'v2.0.0', reason: 'The index is being built.', since: at, until: at };
const skipped = { version: 'v1.5.0', since: at };
const rehearsal = {
  ...{ version: 'v1.5.0', state: 'failed', startedAt: at, endedAt: at, by: 'anna', message: 'v1.5.0 exited' },
  ...{ advice: 'See its log.', readySeconds: 43, log: 'docker logs svc-updater-rehearsal-svc' },
};
const prefetch = { state: 'downloading', percent: 42 };
const upToDate = { code: 'newest', message: 'v1.5.0 is the newest release.' };
const feedError = { message: 'no answer', nextCheckAt: at, staleSince: at };
const recalled = { version: 'v1.4.2', why: 'It loses data.', url: 'https://x.test' };
const urgent = { below: 'v1.4.3', why: 'Passwords can be read.' };
const step = { state: 'pull', startedAt: at, endedAt: at, message: 'pulling' };
const buildServer = { name: 'b1', version: 'v1.4.2', outdated: true, command: 'svc-builder update' };
const point = { at, version: 'v1.4.2', bytes: 325_000_000, downtimeSeconds: 12.5 };
const rolledBack = { version: 'v1.4.2', at };
const back = {
  ...{ from: 'v1.5.0', to: 'v1.4.2', at, since: at },
  downtimeSeconds: 40,
};
const run = {
  id: 'run1',
  kind: 'rollback',
  state: 'failed',
  phase: 'pull',
  percent: 42,
  from: 'v1.4.2',
  to: 'v1.5.0',
  startedAt: at,
  endedAt: at,
  outcome: 'failed',
  message: 'nothing was changed',
  cause: 'no route',
  code: 'pull-unreachable',
  advice: 'See to it.',
  requiredRelease: 'v1.4.9',
  warnings: ['the disk is nearly full'],
  steps: [step],
  jobs: [job],
  until: at,
  cancelRequestedBy: 'anna',
  downtimeSeconds: 1.5,
  log: 'docker logs svc-updater',
  by: 'ben',
  upgradePath: ['v1.5.0', 'v2.0.0'],
  restorePoint: point,
  rolledBack,
};
const status = {
  version: 'v1.4.2',
  channel: 'canary',
  latest: release,
  next,
  prefetch,
  rehearsal,
  skipped,
  automatic,
  pendingStep,
  upToDate,
  updateAvailable: true,
  canUpdate: true,
  reason,
  checkedAt: at,
  feedError,
  recalled,
  urgent,
  preparation: 'a backup is made',
  restorePoint: { downtimeSeconds: 12.5 },
  buildServers: [buildServer],
  manual: ['docker run acme/svc-updater:1'],
  run,
  now: at,
  releases: [release],
};

/** A complete value of each schema, and the fields without which it cannot be parsed. */
const table: Record<string, [whole: object, needed: string]> = {
  Job: [job, ''],
  Reason: [reason, 'code'],
  CancelReason: [{ code: 'too-late', message: 'Too late.' }, 'code'],
  Release: [release, 'version'],
  OfferedSetting: [setting, 'name'],
  Next: [next, 'version'],
  BlockedBy: [blockedBy, 'code'],
  Automatic: [automatic, 'minAgeHours'],
  PendingStep: [pendingStep, 'to'],
  Skipped: [skipped, 'version'],
  Prefetch: [prefetch, ''],
  Rehearsal: [rehearsal, 'version'],
  UpToDate: [upToDate, 'code'],
  FeedError: [feedError, 'message'],
  Recalled: [recalled, 'version'],
  Urgent: [urgent, 'below'],
  Step: [step, 'state startedAt'],
  BuildServer: [buildServer, 'name version'],
  RestorePoint: [point, 'at version'],
  RolledBack: [rolledBack, 'version at'],
  RollbackOffer: [back, 'to at'],
  Saving: [{ downtimeSeconds: 12.5 }, ''],
  Run: [run, 'id state'],
  ToldRun: [{ ...run, now: at }, 'id state'],
  Status: [status, 'version channel'],
  Version: [{ version: 'v1.4.2', updating: true }, 'version updating'],
  Problem: [{ type: 'about:blank', title: 'Conflict', status: 409, detail: 'Not now.', reason }, 'status'],
};
const shapeOf = (name: string) => answers.find((one) => one.name === name) as ObjectSchema<never> | undefined;

describe('a response schema', () => {
  it('has a row in this table', () => {
    expect(answers.map(({ name }) => name).toSorted()).toEqual(Object.keys(table).toSorted());
  });

  it.each(Object.entries(table))('of %s parses and documents every field', (name, [whole]) => {
    expect(shapeOf(name)?.read({ ...whole, tomorrow: 1 })).toEqual({ ...whole, tomorrow: 1 });
    expectValid({ $ref: `#/components/schemas/${name}` }, whole);
    expect(Object.keys(shapeOf(name)?.fields ?? {})).toEqual(Object.keys(whole));
  });

  it.each(Object.entries(table))(
    'of %s accepts a missing or invalid field unless the field is required',
    (name, [whole, needed]) => {
      for (const field of Object.keys(whole)) {
        for (const other of [undefined, Symbol('x')]) {
          const read = shapeOf(name)?.read({ ...whole, [field]: other }) as object | undefined;
          expect([field, read === undefined]).toEqual([field, needed.split(' ').includes(field)]);
          if (read) expect({ ...read, [field]: null }).toEqual({ ...whole, [field]: null });
        }
      }
    },
  );
});

it.each(['yesterday', '2026-11-21', '2026-13-21T10:42:07Z', '+275760-09-13T00:00:00.000Z', '', 1])(
  'an invalid time is treated as missing: %j',
  (time) => {
    const read = answers
      .find(({ name }) => name === 'Run')
      ?.read({
        ...run,
        startedAt: time,
        endedAt: time,
        steps: [
          { ...step, startedAt: time },
          { ...step, endedAt: time },
        ],
      });
    expect(read).toEqual({ ...run, startedAt: '', endedAt: null, steps: [{ ...step, endedAt: null }] });
  },
);

describe('a value that is not a JSON object', () => {
  it.each([null, 1, 'x', true, [], [run], undefined])('is rejected by every schema: %j', (value) => {
    for (const { read } of answers) expect(read(value)).toBeUndefined();
  });
});
