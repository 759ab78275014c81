import { describe, expect, it } from 'vitest';
import { formatRunResult } from '../../src/client/output/run-result-text.ts';
import { type Script, typicalRun } from '../../src/server/testing/index.ts';
import { createRunWithDefaults, parseStatus } from '../../src/wire/api-client/parse-responses.ts';
import type { Status } from '../../src/wire/status.ts';
import { play, stayingIn, svc } from './rig.ts';

const why = {
  message: 'nothing was changed; v1.4.2 is still running',
  cause: 'ghcr.io/acme/svc:v1.5.0: the registry has no such tag',
  code: 'pull-unknown',
  advice: 'Check that v1.5.0 is published for linux/amd64, then run the update again.',
};
const details = [
  `  ${why.cause}.`,
  `  Next: ${why.advice}`,
  '  Full log, on the server: docker logs svc-updater',
];

/** The printed result of a run to v1.5.0. */
function endOf(end: object, told: object = {}) {
  const run = {
    id: 'run1',
    to: 'v1.5.0',
    startedAt: '2026-11-21T10:42:00Z',
    endedAt: '2026-11-21T10:42:38Z',
    downtimeSeconds: 2,
    log: 'docker logs svc-updater',
    ...end,
  };
  const status = parseStatus({ version: 'v1.5.0', channel: 'stable', ...told }) as Status;
  return formatRunResult(createRunWithDefaults({ ...run, state: 'verify' }), status);
}

const running = 'v1.5.0 is now running.';

describe('the result of an update', () => {
  it.each<[object, number, string[]]>([
    [{ outcome: 'updated' }, 0, ['✓ Updated to v1.5.0 in 38 s (2 s downtime)']],
    [{ outcome: 'unchanged', downtimeSeconds: null }, 0, ['✓ No changes were needed.', running]],
    [
      { outcome: 'refused', ...why },
      3,
      ['✗ The update was refused (pull-unknown). Nothing was changed; v1.4.2 is still running.', ...details],
    ],
    [
      { outcome: 'failed', ...why },
      4,
      ['✗ The update failed (pull-unknown). Nothing was changed; v1.4.2 is still running.', ...details],
    ],
    [
      { outcome: 'broken', message: 'v1.5.0 is unhealthy' },
      5,
      ['✗ The update did not succeed. v1.5.0 is unhealthy.', ...details.slice(2), running],
    ],
    [
      { outcome: 'crashed', message: 'a bug', log: null },
      1,
      ['✗ The update was interrupted. A bug.', running],
    ],
    [
      {
        outcome: 'cancelled',
        message: 'nothing was changed; v1.5.0 is still running',
        cancelRequestedBy: 'anna',
        log: null,
      },
      143,
      ['✗ Cancelled by anna. Nothing was changed; v1.5.0 is still running.'],
    ],
    [
      { outcome: 'cancelled', message: 'the server was stopped; nothing was changed', log: null },
      143,
      ['✗ Cancelled. The server was stopped; nothing was changed.'],
    ],
    // An outcome that only a newer server reports.
    [{ outcome: 'paused', message: 'it sleeps', log: null }, 1, ['✗ It sleeps. v1.5.0 is now running.']],
  ])('is printed for %j, and the client exits with %d', (end, exitCode, lines) => {
    expect(endOf(end)).toEqual({ lines, exitCode });
  });

  it('contains the warnings and the outdated build servers', () => {
    const server = (name: string, outdated: boolean) => ({
      ...{ name, outdated, version: 'v1.4.2', command: `update ${name}` },
    });
    // The server's warnings about build servers are replaced by the current status.
    const stays = (name: string) => `build server ${name} still runs v1.4.1; update it with: update ${name}`;
    const warnings = ['the label says v1.4.9', stays('build-1'), stays('build-2')];
    const buildServers = [server('build-1', true), server('build-2', false), server('build-30', true)];
    expect(endOf({ outcome: 'updated', warnings }, { buildServers }).lines.slice(1)).toEqual([
      '! the label says v1.4.9',
      '2 build servers are outdated:',
      '  build-1   update build-1',
      '  build-30  update build-30',
    ]);
  });

  it('contains a running version other than the target', () => {
    const run = { id: 'run1', state: 'updated', outcome: 'updated' };
    expect(endOf({ outcome: 'updated' }, { version: 'v1.4.9', run }).lines).toEqual([
      '✓ v1.4.9 is running (2 s downtime)',
      'The image tag “latest” does not point to v1.5.0 yet.',
    ]);
  });
});

describe.concurrent('a failed update', () => {
  const script: Script = { speed: 40, runs: [typicalRun({ outcome: 'failed', in: 'pull', ...why })] };

  it('is printed identically when it is followed and when it is requested later', async () => {
    const { url } = await play(script);
    const first = await svc(url, 'instance update');
    const later = await svc(url, 'instance follow');
    for (const { exitCode, out } of [first, later]) {
      expect(exitCode).toBe(4);
      expect(out).toContain(
        `✗ The update failed (pull-unknown). Nothing was changed; v1.4.2 is still running.\n${details.join('\n')}\n`,
      );
    }
    expect(later.out).not.toContain('Updating');
  });
});

describe.concurrent('Ctrl-C', () => {
  // Uses the `expect` of the test, because a poll needs its own test and the tests are concurrent.
  it.for([
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const)('stops following on %s, but does not stop the update', async ([signal, code], { expect }) => {
    let isFollowed = true;
    const { url, updates } = await play({ speed: 4, runs: [stayingIn('pull', () => isFollowed)] });
    const said = await svc(url, 'instance update', {
      onOutput: (text, interrupt) => text.includes('Checked') && interrupt(signal),
    });
    isFollowed = false;
    expect(said.exitCode).toBe(code);
    expect(said.out).toMatch(
      /\nThe update continues\. To follow its progress: svc instance follow\. To cancel: svc instance cancel\.\n$/,
    );
    // Polls the server directly, because the client receives no response during the downtime.
    await expect.poll(() => updates.history()).toMatchObject([{ outcome: 'updated' }]);
    expect((await svc(url, 'instance follow')).exitCode).toBe(0);
  });

  it('prints nothing if no update was started', async () => {
    for (const command of ['status', 'update', 'follow', 'cancel', 'history', 'channel stable']) {
      let hasAsked = () => {};
      const asked = new Promise<void>((resolve) => (hasAsked = resolve));
      const { url } = await play({
        intercept: () => {
          hasAsked();
          return new Promise<never>(() => {});
        },
      });
      const said = await svc(url, `instance ${command}`, { interruptAfter: asked });
      expect(said, command).toEqual({ exitCode: 130, out: '', err: '' });
    }
  });
});
