import { describe, expect, it } from 'vitest';
import type { Shape } from '../../src/wire/fields.ts';
import { answers } from '../../src/wire/status.ts';
import { expectValid } from '../instance/http/ask.ts';

const at = '2026-11-21T10:42:07.000Z';
const job = { kind: 'backup', state: 'queued', title: 'nightly', since: at, stuck: true };
const reason = {
  code: 'backup-running',
  message: 'A backup runs.',
  since: at,
  jobs: [job],
  refusal: 'not-as-left',
  advice: 'See to it.',
};
const release = { version: 'v1.5.0', url: 'https://x.test', notes: 'New.', publishedAt: at };
const next = { version: 'v1.5.0', major: true, ready: true, seconds: 12, path: ['v1.5.0', 'v2.0.0'] };
const keptBack = { code: 'paused', message: 'The update to v1.4.1 ended badly.', since: at };
const automatic = {
  ...{ enabled: true, from: '02:00', to: '05:00', timeZone: 'Europe/Berlin', days: ['sat'] },
  ...{ age: 72, majors: true, nextAt: at, keptBack },
};
const between = { to: 'v2.0.0', says: 'The index is being built.', since: at, until: at };
const skipped = { version: 'v1.5.0', since: at };
const ahead = { state: 'fetching', percent: 42 };
const upToDate = { code: 'newest', message: 'v1.5.0 is the newest release.' };
const feedError = { message: 'no answer', nextCheckAt: at };
const step = { state: 'pull', startedAt: at, endedAt: at, message: 'pulling' };
const buildServer = { name: 'b1', version: 'v1.4.2', behind: true, command: 'svc-builder update' };
const point = { at, version: 'v1.4.2', bytes: 325_000_000, seconds: 12.5 };
const rolledBack = { version: 'v1.4.2', at };
const back = {
  ...{ from: 'v1.5.0', to: 'v1.4.2', at, since: at },
  seconds: 40,
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
  step: 'v1.4.9',
  warnings: ['the disk is nearly full'],
  steps: [step],
  jobs: [job],
  until: at,
  cancelAskedBy: 'anna',
  away: 1.5,
  log: 'docker logs svc-updater',
  by: 'ben',
  path: ['v1.5.0', 'v2.0.0'],
  point,
  rolledBack,
};
const status = {
  version: 'v1.4.2',
  channel: 'canary',
  latest: release,
  next,
  ahead,
  skipped,
  automatic,
  between,
  upToDate,
  updateAvailable: true,
  canUpdate: true,
  reason,
  checkedAt: at,
  feedError,
  preparation: 'a backup is made',
  restorePoint: { seconds: 12.5 },
  buildServers: [buildServer],
  manual: ['docker compose pull'],
  run,
  now: at,
  releases: [release],
};

/** What cannot be read without the field. */
const needed = Symbol('needed');
/** Of each answer a whole one, and what a reader makes of each field that is missing. */
const table: Record<string, [whole: object, filledIn: Record<string, unknown>]> = {
  Job: [job, { kind: 'job', state: 'running', title: null, since: null, stuck: false }],
  Reason: [
    reason,
    {
      ...{ code: needed, message: 'backup-running', since: undefined, jobs: undefined },
      ...{ refusal: undefined, advice: undefined },
    },
  ],
  CancelReason: [
    { code: 'too-late', message: 'Too late.' },
    { code: needed, message: '' },
  ],
  Release: [release, { version: needed, url: null, notes: null, publishedAt: null }],
  Next: [next, { version: needed, major: false, ready: null, seconds: null, path: [] }],
  KeptBack: [keptBack, { code: needed, message: 'paused', since: undefined }],
  Automatic: [
    automatic,
    {
      ...{ enabled: false, from: '', to: '', timeZone: '', days: [], age: needed },
      ...{ majors: false, nextAt: null, keptBack: null },
    },
  ],
  Between: [between, { to: needed, says: null, since: '', until: '' }],
  Skipped: [skipped, { version: needed, since: null }],
  Ahead: [ahead, { state: 'waiting', percent: null }],
  UpToDate: [upToDate, { code: needed, message: 'Nothing is offered: newest.' }],
  FeedError: [feedError, { message: needed, nextCheckAt: '' }],
  Step: [step, { state: needed, startedAt: needed, endedAt: null, message: '' }],
  BuildServer: [buildServer, { name: needed, version: needed, behind: false, command: '' }],
  RestorePoint: [point, { at: needed, version: needed, bytes: null, seconds: null }],
  RolledBack: [rolledBack, { version: needed, at: needed }],
  RollbackOffer: [
    back,
    {
      ...{ from: null, to: needed, at: needed, since: undefined },
      seconds: null,
    },
  ],
  Saving: [{ seconds: 12.5 }, { seconds: null }],
  Run: [run, ofRun()],
  ToldRun: [
    { ...run, now: at },
    { ...ofRun(), now: '' },
  ],
  Status: [
    status,
    {
      version: needed,
      channel: needed,
      latest: null,
      next: null,
      ahead: null,
      skipped: null,
      automatic: null,
      between: null,
      upToDate: null,
      updateAvailable: false,
      canUpdate: false,
      reason: null,
      checkedAt: null,
      feedError: null,
      preparation: null,
      restorePoint: null,
      buildServers: [],
      manual: [],
      run: null,
      now: '',
      releases: undefined,
    },
  ],
  Version: [
    { version: 'v1.4.2', updating: true },
    { version: needed, updating: needed },
  ],
  Problem: [
    { type: 'about:blank', title: 'Conflict', status: 409, detail: 'Not now.', reason },
    { type: undefined, title: undefined, status: needed, detail: 'Conflict', reason: undefined },
  ],
};
function ofRun() {
  return {
    id: needed,
    kind: 'update',
    state: needed,
    phase: null,
    percent: null,
    from: null,
    to: null,
    startedAt: '',
    endedAt: null,
    outcome: null,
    message: '',
    cause: null,
    code: null,
    advice: null,
    step: null,
    warnings: [],
    steps: [],
    jobs: [],
    until: null,
    cancelAskedBy: null,
    away: null,
    log: null,
    by: null,
    path: [],
    point: null,
    rolledBack: null,
  };
}
const shapeOf = (name: string) => answers.find((one) => one.name === name) as Shape<never> | undefined;

describe('an answer', () => {
  it('has a row here', () => {
    expect(answers.map(({ name }) => name).toSorted()).toEqual(Object.keys(table).toSorted());
  });

  it.each(Object.entries(table))(
    '%s is read and described with all that it has',
    (name, [whole, filledIn]) => {
      expect(Object.keys(whole)).toEqual(Object.keys(filledIn));
      expect(shapeOf(name)?.read({ ...whole, tomorrow: 1 })).toEqual({ ...whole, tomorrow: 1 });
      expectValid({ $ref: `#/components/schemas/${name}` }, whole);
      expect(Object.keys(shapeOf(name)?.fields ?? {})).toEqual(Object.keys(whole));
    },
  );

  it.each(
    Object.entries(table).flatMap(([name, [whole, filledIn]]) =>
      Object.entries(filledIn).map(([field, value]) => [name, field, value, whole] as const),
    ),
  )('%s without %s', (name, field, value, whole) => {
    // Of what updates keep nothing has to be known.
    const others = ['restorePoint', 'ahead'].includes(field) ? [null] : [null, {}];
    for (const other of [undefined, ...others, Symbol('x')]) {
      const read: Record<string, unknown> | undefined = shapeOf(name)?.read({ ...whole, [field]: other });
      expect(read && field in read ? read[field] : needed).toEqual(value);
    }
  });
});

describe('of what is no such thing', () => {
  it.each([null, 1, 'x', true, [], [run], undefined])('%j, there is none', (value) => {
    for (const { read } of answers) expect(read(value)).toBeUndefined();
  });
});
