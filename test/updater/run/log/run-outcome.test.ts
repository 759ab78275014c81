import { describe, expect, it } from 'vitest';
import { CancelledError } from '../../../../src/core/cancellation/cancelled.ts';
import { type ErrorCode, errorCodes, UpdateError } from '../../../../src/core/errors/update-error.ts';
import { createProduct } from '../../../../src/core/names/product.ts';
import { createRun, RunRecord } from '../../../../src/server/run/run-record.ts';
import type { OutcomeDetails } from '../../../../src/updater/run/log/outcome-details.ts';
import { Log } from '../../../../src/updater/run/log/run-log.ts';
import { logFailure, logLastLine, logSuccess } from '../../../../src/updater/run/log/run-outcome.ts';

const project = { name: 'svc', directory: '/opt/svc', files: ['/opt/svc/compose.yaml'], envFiles: [] };
const known: OutcomeDetails = {
  version: 'v1.4.2',
  project,
  services: ['app', 'worker'],
  interruptedState: null,
  mayHaveReplaced: false,
};
const touched: OutcomeDetails = { ...known, mayHaveReplaced: true };

function ending(error: unknown, facts = known) {
  const lines: string[] = [];
  let outcome: unknown = null;
  const log = new Log((event, fields) => {
    lines.push(event.message);
    outcome = fields.outcome;
  });
  logFailure(error, log, facts);
  return { lines, outcome, last: lines.at(-1) };
}

it('reports after a refused run that nothing was changed, and prints the advice', () => {
  expect(ending(new UpdateError('no-target', 'app is pinned'))).toEqual({
    outcome: 'refused',
    lines: ['app is pinned', expect.any(String)],
    last: 'refused (no-target): nothing was changed; v1.4.2 is still running. Next: Choose a release with --target vX.Y.Z, or use --target canary.',
  });
});

it('inserts the commands for this project, product and command into the advice', () => {
  const facts: OutcomeDetails = {
    ...known,
    project: { ...project, files: ['/opt/svc/$&.yaml'] },
    product: createProduct({ name: 'larder' }),
    isRollback: true,
  };
  const advice = `Set $\{compose}, run {compose} up -d and docker logs {container}, ask {product} and {names}, then run {command} again.`;
  expect(ending(new UpdateError('no-target', 'x', { advice }), facts).last).toContain(
    `Next: Set $\{compose}, run docker compose -p svc -f '$&.yaml' up -d and docker logs larder-updater, ask larder and {names}, then run rollback --yes again.`,
  );
});

it('limits an advised up to services whose data need not be dumped first', () => {
  const error = new UpdateError('no-target', 'x', { advice: 'Run {up} first.' });
  expect(ending(error).last).toContain('Next: Run docker compose up -d first.');
  expect(ending(error, { ...known, safeServices: ['app', 'worker'] }).last).toContain(
    'Next: Run docker compose up -d --no-deps app worker first.',
  );
});

it('does not report a running version if another process has changed containers', () => {
  expect(ending(new UpdateError('containers-changed', 'app was removed')).last).toMatch(
    /^failed \(containers-changed\): nothing was changed by this run; the changes that another process made during the update were kept\. /,
  );
});

it('reports a version that was unhealthy before as still unhealthy', () => {
  expect(ending(new UpdateError('downgrade', 'x'), { ...known, isUnwell: true }).last).toMatch(
    /^refused \(downgrade\): nothing was changed; v1\.4\.2 is still unhealthy\. Next: /,
  );
});

it('reports a version that was stopped before as still stopped', () => {
  const stopped = { ...known, isStopped: true };
  expect(ending(new UpdateError('pull-unknown', 'x'), stopped).last).toMatch(
    /^failed \(pull-unknown\): nothing was changed; v1\.4\.2 is still stopped, as before the update\. Next: /,
  );
  expect(ending(new UpdateError('recreate-failed', 'x'), { ...stopped, mayHaveReplaced: true }).last).toMatch(
    /^failed \(recreate-failed\): the original files are in place, and v1\.4\.2 is still stopped, as before the update\. Next: /,
  );
  expect(ending(new UpdateError('modified-since', 'x'), { ...stopped, isRollback: true }).last).toMatch(
    /^refused \(modified-since\): nothing was changed; v1\.4\.2 is still stopped, as before the rollback\. Next: /,
  );
});

it.each([
  [
    'recreate-failed',
    touched,
    'failed (recreate-failed): the other files have been restored, and v1.4.2 is running again; ',
  ],
  ['write-failed', known, 'failed (write-failed): nothing was changed; v1.4.2 is still running; '],
  [
    'containers-not-restored',
    touched,
    'broken (containers-not-restored): the other files have been restored, but v1.4.2 could not be restored; no container of the new version has started; ',
  ],
] as const)('lists files that were not restored: %s', (code, facts, begins) => {
  const saved = (paths: string[], next: string[] | null) =>
    ending(new UpdateError(code, 'x'), { ...facts, leftAlone: { paths, next } }).last;
  expect(saved(['/opt/svc/.env'], ['acme/svc:v1.5.0'])).toContain(
    `${begins}another user or process edited /opt/svc/.env during the update; the edits were kept, and the next docker compose up will start acme/svc:v1.5.0. `,
  );
  expect(saved(['/opt/svc/.env', '/opt/svc/compose.yaml'], null)).toContain(
    `${begins}another user or process edited /opt/svc/.env and /opt/svc/compose.yaml during the update; the edits were kept, and docker compose rejects the edited files. `,
  );
});

it('does not advise up if another user edited a file and the new version has started', () => {
  const broken = (leftAlone: OutcomeDetails['leftAlone']) =>
    ending(new UpdateError('broken', 'x'), { ...touched, ...(leftAlone && { leftAlone }) }).last;
  expect(broken(undefined)).toContain(
    'Fix the cause, then run the update again, or run docker compose -p svc up -d',
  );
  const last = broken({ paths: ['/opt/svc/.env'], next: ['acme/svc:v1.4.2'] });
  expect(last).toContain(
    'may have run; another user or process edited /opt/svc/.env during the update; the edits were kept, and ',
  );
  expect(last).toMatch(/Fix the cause, then run the update again\.$/);
});

it('logs the same result fields again when the last line is read from a journal', () => {
  const fields: unknown[] = [];
  const log = new Log(({ phase }, given) => phase === 'done' && fields.push(given));
  const rolledBack = { version: 'v1.4.2', at: '2026-11-25T02:00:00Z', kept: null };
  const error = new UpdateError('rolled-back', 'app died', { state: 'v1.4.2 runs', fields: { rolledBack } });
  const endings = [
    logFailure(error, log, known),
    logSuccess(log, 'updated', 'updated v1.4.2 → v1.5.0 in 3 s', { from: 'v1.4.2', to: 'v1.5.0' }),
  ];
  for (const ending of endings) logLastLine(JSON.parse(JSON.stringify(ending)), log);
  const failed = { outcome: 'failed', code: 'rolled-back', message: 'v1.4.2 runs', detail: 'app died' };
  const result = { ...failed, facts: { rolledBack } };
  expect(fields[0]).toMatchObject({ outcome: 'failed', code: 'rolled-back', rolledBack, result });
  const versions = { from: 'v1.4.2', to: 'v1.5.0' };
  const message = 'updated v1.4.2 → v1.5.0 in 3 s';
  const updated = { outcome: 'updated', code: null, message, detail: null, advice: null, facts: versions };
  expect(fields[1]).toEqual({ outcome: 'updated', ...versions, result: updated });
  expect(fields.slice(2)).toEqual(fields.slice(0, 2));
});

it.each<[string, unknown]>([
  ...errorCodes.map((code): [string, unknown] => [code, new UpdateError(code, 'x', { detail: ['y'] })]),
  ['upgrade-step', new UpdateError('upgrade-step', 'x', { requiredRelease: 'v1.5.0' })],
  ['logged', new UpdateError('rolled-back', 'x', { isLogged: true, state: 'v1.4.2 runs' })],
  ['crashed', new TypeError('a bug')],
  ['cancelled', new CancelledError()],
])('a server of an earlier release reads the same result from the last line: %s', (_, error) => {
  const origin = { id: '1', from: 'v1.4.2', to: 'v1.5.0', startedAt: '2026-11-21T10:42:18.140Z' };
  const [now, earlier] = [new RunRecord(createRun(origin)), new RunRecord(createRun(origin))];
  const log = new Log((event, fields) => {
    now.add(event, fields);
    earlier.add(event);
  });
  log.error('an earlier error');
  logFailure(error, log, touched);
  expect(now.run).toEqual(earlier.run);
  expect(now.run.outcome).not.toBeNull();
});

it('limits the length of the error in a journal, label or store, but not in the log', () => {
  const record = new RunRecord(createRun({ id: 'r1', from: null, to: null, startedAt: '' }));
  const long = 'a long line '.repeat(200).trim();
  const messages: string[] = [];
  const log = new Log((event, fields) => {
    messages.push(event.message);
    record.add(event, fields);
  });
  const kept = logFailure(
    new UpdateError('broken', 'app died', { detail: [long], isLogged: true }),
    log,
    touched,
  );
  expect(record.run.cause).toBe(long.slice(0, 2_000));
  expect(kept.fields?.result).toMatchObject({ detail: long.slice(0, 2_000) });
  expect(messages).toContain(long);
});

it('reports the required intermediate release as a field and in the last line, also when the line is logged again', () => {
  const events: [string, unknown][] = [];
  const log = new Log(({ phase, message }, fields) => phase === 'done' && events.push([message, fields]));
  const error = new UpdateError('upgrade-step', 'v2 needs it', {
    requiredRelease: 'v1.5.0',
    advice: 'Go there.',
  });
  const ended = logFailure(error, log, known);
  logLastLine(ended, log);
  const line =
    'refused (upgrade-step): nothing was changed; v1.4.2 is still running; v1.5.0 must be installed first. Next: Go there.';
  const result = {
    ...{ outcome: 'refused', code: 'upgrade-step', detail: 'v2 needs it', advice: 'Go there.' },
    message: 'nothing was changed; v1.4.2 is still running; v1.5.0 must be installed first',
    facts: { requiredRelease: 'v1.5.0' },
  };
  const { outcome, code, advice } = result;
  const fields = { outcome, code, advice, requiredRelease: 'v1.5.0', result };
  expect(events).toEqual([
    [line, fields],
    [line, fields],
  ]);
});

it('lists the commands to inspect a broken instance', () => {
  const { last, lines } = ending(
    new UpdateError('broken', 'app is unhealthy', { detail: ['the last line'] }),
    touched,
  );
  expect(lines).toContain('the last line');
  expect(last).toMatch(
    /^broken \(broken\): the new version has started, but it is unhealthy; it was not rolled back, because its migrations may have run\. Next: Check /,
  );
  expect(last).toContain('docker compose -p svc logs app worker');
});

it('does not mention migrations if the version can be rolled back', () => {
  const { last } = ending(new UpdateError('broken', 'app is unhealthy'), { ...touched, canRollBack: true });
  expect(last).toMatch(
    /^broken \(broken\): the new version has started, but it is unhealthy; it was not rolled back\. Next: /,
  );
});

it('lists the services that remain stopped because of a full disk, and the space to free', () => {
  const error = new UpdateError('no-space', 'the helper container cannot be started', {
    outcome: 'broken',
    advice: 'Free at least 17 MB on this disk, then run {command} again to continue the restore.',
  });
  const { last, outcome } = ending(error, { ...touched, dataServices: ['db'], isRollback: true });
  expect(outcome).toBe('broken');
  expect(last).toBe(
    'broken (no-space): the data of v1.4.2 has not been restored yet, so these services remain stopped: app, worker and db. Next: Free at least 17 MB on this disk, then run rollback --yes again to continue the restore.',
  );
});

it('reports the state after a crash', () => {
  const { last, lines, outcome } = ending(new TypeError('x is not a function'), touched);
  expect(outcome).toBe('crashed');
  expect(lines[0]).toBe('TypeError: x is not a function');
  expect(last).toMatch(/^crashed: this is a bug in the updater; some containers may not have been replaced/);
});

it.each([
  [false, 'Run the update again: this undoes the update if the new version has not started. Please report'],
  [
    true,
    'Run the update again: if the new version has already started, this restores v1.4.2 and its data. Please report',
  ],
])(
  'reports the step of a crash, and the effect of the next run (restore point: %j)',
  (canRollBack, advice) => {
    const { last } = ending(new TypeError('x is not a function'), {
      ...touched,
      canRollBack,
      step: 'verify',
    });
    expect(last).toContain('this is a bug in the updater, which crashed in verify; some containers may');
    expect(last).toContain(advice);
  },
);

it('reports that nothing was changed if the new version is already running but unhealthy', () => {
  const { last } = ending(new UpdateError('unhealthy', 'svc-app-1 is unhealthy'));
  expect(last).toMatch(
    /^broken \(unhealthy\): nothing was changed; v1\.4\.2 is already running, but it is unhealthy\. Next: Check the output of docker compose -p svc ps .* up -d --no-deps app worker/,
  );
});

it('reports an interrupted previous run that could not be recovered', () => {
  const about = { ...known, interruptedState: 'the update to v1.5.0 was interrupted in recreate' };
  expect(ending(new UpdateError('compose-invalid', 'compose rejects the project'), about).last).toBe(
    'refused (compose-invalid): nothing was changed by this run; the update to v1.5.0 was interrupted in recreate. Next: Fix the file until docker compose config accepts it, then run the update again.',
  );
});

it('advises to repeat the rollback, not the update, after a failed rollback', () => {
  const rollback = { ...touched, isRollback: true };
  expect(ending(new CancelledError(), rollback).last).toMatch(
    /Next: Run rollback --yes again when you are ready\.$/,
  );
  expect(ending(new UpdateError('containers-not-restored', 'no'), rollback).last).toContain(
    'then run rollback --yes again, or',
  );
});

it('advises a rollback only if a rollback is possible', () => {
  const error = new UpdateError('broken', 'app is unhealthy');
  expect(ending(error, { ...touched, canRollBack: true }).last).toMatch(
    /restore the previous version and its data, run the updater with rollback --yes\.$/,
  );
  expect(ending(error, touched).last).not.toContain('rollback');
});

describe('advice', () => {
  /** The advice in the last line if these values are secrets. */
  const maskedLast = (error: unknown, values: readonly string[]) => {
    const ends: unknown[] = [];
    const log = new Log(({ phase, message }, fields) => phase === 'done' && ends.push([message, fields]));
    log.addMaskRules(() => ({ secrets: values.map((value) => ({ key: 'DB_PASSWORD', value })) }));
    const { message, fields } = logFailure(error, log, known);
    expect(ends).toEqual([[message, expect.objectContaining(fields ?? {})]]);
    const advice = String(fields?.advice);
    expect(message.endsWith(` Next: ${advice}`), message).toBe(true);
    return advice;
  };
  const general = (code: ErrorCode) =>
    new UpdateError(code, 'x').advice
      .replaceAll('{command}', 'the update')
      .replaceAll('{compose}', 'docker compose')
      .replaceAll('{product}', 'svc')
      .replaceAll('{container}', 'svc-updater');

  it.each(errorCodes)('for the code %s contains no ***, regardless of the secrets', (code) => {
    const own = ending(new UpdateError(code, 'x')).last?.split('. Next: ')[1] ?? '';
    for (const values of [[own], own.split(' '), [own.slice(3), own.slice(0, -3)]])
      expect([own, general(code)]).toContain(maskedLast(new UpdateError(code, 'x'), values));
  });

  it('is the general advice of the code if a detail would be masked', () => {
    const advice = 'Set data: {db.internal: none}.';
    const error = new UpdateError('data-undeclared', 'x', { advice });
    expect(maskedLast(error, ['db.internal'])).toBe(general('data-undeclared'));
    expect(maskedLast(error, ['another value'])).toBe(advice);
  });

  it.each([new CancelledError(), new Error('a bug')])('for %s contains no ***', (error) => {
    expect(maskedLast(error, ['the update', 'Please report', 'the lines above'])).toMatch(
      /^(Run the update again when you are ready|Please report the lines above)\.$/,
    );
  });
});
