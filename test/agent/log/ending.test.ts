import { expect, it } from 'vitest';
import { reportEnding } from '../../../src/agent/log/ending.ts';
import { Log } from '../../../src/agent/log/log.ts';
import type { Phase } from '../../../src/progress/event.ts';
import { outcomeOf } from '../../../src/progress/outcome.ts';
import { Cancelled } from '../../../src/progress/stops.ts';
import { UpdateError } from '../../../src/progress/update-error.ts';

const known = { version: 'v1.4.2', project: 'svc', services: ['app', 'worker'] };

function ending(error: unknown, phase: Phase, about = known as Parameters<typeof reportEnding>[2]) {
  const lines: string[] = [];
  let outcome: string | null = null;
  const log = new Log((event) => {
    lines.push(event.message);
    outcome = outcomeOf(event) ?? outcome;
  });
  log.phase = phase;
  reportEnding(error, log, about);
  return { lines, outcome, last: lines.at(-1) };
}

it('says what a refusal left and what to do next', () => {
  expect(ending(new UpdateError('no-target', 'app is pinned'), 'plan')).toEqual({
    outcome: 'refused',
    lines: ['app is pinned', expect.any(String)],
    last: 'refused: nothing was changed, v1.4.2 runs on. Name the release with --target vX.Y.Z, or --target canary.',
  });
});

it('does not name a version it does not know', () => {
  const nothing = { version: null, project: null, services: [] };
  expect(ending(new UpdateError('no-socket', 'none'), 'inspect', nothing).last).toMatch(
    /^refused: nothing was changed\. /,
  );
});

it('says after recreate that the old version is back', () => {
  expect(ending(new UpdateError('recreate-failed', 'x'), 'recreate').last).toMatch(
    /^failed: the files are as they were and v1\.4\.2 runs again\. /,
  );
});

it('does not repeat what the log has already', () => {
  expect(ending(new UpdateError('recreate-failed', 'x', { told: true }), 'recreate').lines).toHaveLength(1);
});

it('names the commands of a broken instance', () => {
  const { last, lines } = ending(
    new UpdateError('broken', 'app is unhealthy', { detail: ['the last line'] }),
    'verify',
  );
  expect(lines).toContain('the last line');
  expect(last).toMatch(/^broken: the new version has started and is not well; nothing was put back/);
  expect(last).toContain('docker compose -p svc logs app worker');
});

it.each<[Phase, RegExp]>([
  ['pull', /^crashed: a bug in the updater; no container was touched/],
  ['recreate', /^crashed: a bug in the updater; containers may be half replaced/],
])('says after a crash in %s what state it left', (phase, expected) => {
  const { last, lines, outcome } = ending(new TypeError('x is not a function'), phase);
  expect(outcome).toBe('crashed');
  expect(lines[0]).toBe('TypeError: x is not a function');
  expect(last).toMatch(expected);
});

it('tells a cancelled run from a failed one', () => {
  expect(ending(new Cancelled(), 'pull').last).toBe(
    'cancelled: nothing was changed, v1.4.2 runs on. Run the update again when it suits.',
  );
});

it('names the cause of the system', () => {
  const cause = Object.assign(new Error('no'), { code: 'ENOSPC' });
  expect(ending(new UpdateError('write-failed', 'cannot write', { cause }), 'write').lines[0]).toBe(
    'cannot write (ENOSPC)',
  );
});

it('does not say that all is well where an earlier run was interrupted and could not be settled', () => {
  const about = { ...known, halfDone: 'the update to v1.5.0 was interrupted in recreate' };
  expect(
    ending(new UpdateError('compose-invalid', 'compose rejects the project'), 'inspect', about).last,
  ).toBe(
    'refused: nothing was changed by this run, and the update to v1.5.0 was interrupted in recreate. Mend the file until docker compose config accepts it, then run the update again.',
  );
});

it('tells of a port that the engine may hold by mistake', () => {
  const error = new UpdateError('not-brought-back', 'docker start failed', {
    detail: [
      'driver failed programming external connectivity: Bind for 127.0.0.1:8080 failed: port is already allocated',
    ],
  });
  expect(ending(error, 'recreate').last).toContain(
    'nothing of the new version has started. See docker ps --filter publish=8080: where no container has that port, the engine holds it by mistake until it is restarted. See docker compose -p svc ps',
  );
});
