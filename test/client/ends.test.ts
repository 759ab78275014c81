import { describe, expect, it } from 'vitest';
import { endingOf } from '../../src/client/endings.ts';
import { type Script, typicalRun } from '../../src/instance/testing/index.ts';
import { readStatus, runOf } from '../../src/wire/reader-shapes.ts';
import type { Status } from '../../src/wire/status.ts';
import { play, stayingIn, svc } from './rig.ts';

const why = {
  message: 'nothing was changed; v1.4.2 is still running',
  cause: 'ghcr.io/acme/svc:v1.5.0: the registry has no such tag',
  code: 'pull-unknown',
  advice: 'See that v1.5.0 is published for linux/amd64, then run the update again.',
};
const details = [
  `  ${why.cause}`,
  `  Next: ${why.advice}`,
  '  The whole log, on the machine: docker logs svc-updater',
];

/** What is said of a run to v1.5.0 that has ended so, with the server that told it. */
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
  const status = readStatus({ version: 'v1.5.0', channel: 'stable', ...told }) as Status;
  return endingOf(runOf({ ...run, state: 'verify' }), status);
}

describe('the end of an update', () => {
  it.each<[object, number, string[]]>([
    [{ outcome: 'updated' }, 0, ['✓ svc v1.5.0 runs. 38 s, away for 2 s']],
    [
      { outcome: 'unchanged', downtimeSeconds: null },
      0,
      ['✓ svc v1.5.0 runs already and is well; nothing was replaced. 38 s'],
    ],
    [
      { outcome: 'refused', ...why },
      3,
      ['✗ The update was refused (pull-unknown): nothing was changed; v1.4.2 is still running.', ...details],
    ],
    [
      { outcome: 'failed', ...why },
      4,
      ['✗ The update failed (pull-unknown): nothing was changed; v1.4.2 is still running.', ...details],
    ],
    [
      { outcome: 'broken', message: 'v1.5.0 is not well' },
      5,
      ['✗ The update has left svc broken: v1.5.0 is not well.', ...details.slice(2)],
    ],
    [{ outcome: 'crashed', message: 'a bug', log: null }, 1, ['✗ The updater crashed: a bug.']],
    [
      { outcome: 'cancelled', message: 'cancelled by anna: nothing was changed', log: null },
      143,
      ['✗ The update was cancelled by anna: nothing was changed.'],
    ],
    // A word of a newer server.
    [{ outcome: 'paused', message: 'it sleeps', log: null }, 1, ['✗ The update ended “paused”: it sleeps.']],
  ])('%j exits with %d', (end, exitCode, lines) => {
    expect(endOf(end)).toEqual({ lines, exitCode });
  });

  it('has what the updater warned of, and the build servers that stay behind', () => {
    const server = (name: string, outdated: boolean) => ({
      ...{ name, outdated, version: 'v1.4.2', command: `update ${name}` },
    });
    // The server warns of each, too, as it was at the end; what the status has is told once, as it is by now.
    const stays = (name: string) => `build server ${name} stays behind with v1.4.1: update ${name}`;
    const warnings = ['the label says v1.4.9', stays('build-1'), stays('build-2')];
    const buildServers = [server('build-1', true), server('build-2', false), server('build-30', true)];
    expect(endOf({ outcome: 'updated', warnings }, { buildServers }).lines.slice(1)).toEqual([
      '! the label says v1.4.9',
      '2 build servers stay behind:',
      '  build-1   update build-1',
      '  build-30  update build-30',
    ]);
  });

  it('says where something else runs than was meant', () => {
    expect(endOf({ outcome: 'updated' }, { version: 'v1.4.9' }).lines).toEqual([
      '✓ svc v1.4.9 runs; the tag of its image does not lead to v1.5.0 yet. 38 s, away for 2 s',
    ]);
  });
});

describe.concurrent('an update that ends badly', () => {
  const script: Script = { speed: 40, runs: [typicalRun({ outcome: 'failed', in: 'pull', ...why })] };

  it('is told to who follows it, and in the same way to who comes later', async () => {
    const { url } = await play(script);
    const first = await svc(url, 'instance update');
    const later = await svc(url, 'instance follow');
    for (const { exitCode, out } of [first, later]) {
      expect(exitCode).toBe(4);
      expect(out).toContain(`✗ The update failed (pull-unknown): ${why.message}.\n${details.join('\n')}\n`);
    }
    expect(later.out).not.toContain('Updating');
  });
});

describe.concurrent('Ctrl-C', () => {
  // `expect` of the test itself: a poll must know its test, and others run beside it.
  it.for([
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const)('ends the following, not the update, as %s does', async ([signal, code], { expect }) => {
    let isFollowed = true;
    const { url, updates } = await play({ speed: 4, runs: [stayingIn('pull', () => isFollowed)] });
    const said = await svc(url, 'instance update', {
      onOutput: (text, interrupt) => text.includes('checked') && interrupt(signal),
    });
    isFollowed = false;
    expect(said.exitCode).toBe(code);
    expect(said.out).toMatch(
      /\nThe update continues\. Follow it: svc instance follow\. Cancel it: svc instance cancel\.\n$/,
    );
    // By itself; who asks while svc is away gets no answer.
    await expect.poll(() => updates.history()).toMatchObject([{ outcome: 'updated' }]);
    expect((await svc(url, 'instance follow')).exitCode).toBe(0);
  });

  it('says nothing where nothing was begun', async () => {
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
