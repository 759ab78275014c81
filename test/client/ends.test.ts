import { describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../src/client/endings.ts';
import { type Script, typicalRun } from '../../src/instance/testing/index.ts';
import { endStates } from '../../src/wire/codes.ts';
import { play, stayingIn, svc } from './rig.ts';

const why = {
  message: 'nothing was changed, v1.4.2 runs on',
  cause: 'ghcr.io/acme/svc:v1.5.0: the registry has no such tag',
  code: 'pull-unknown',
  advice: 'See that v1.5.0 is published for linux/amd64, then run the update again.',
};
const ends: Record<(typeof endStates)[number], { exitCode: number; head: RegExp }> = {
  updated: { exitCode: 0, head: /^✓ svc v1\.5\.0 runs\. \d+ s, away for 2 s$/m },
  unchanged: {
    exitCode: 0,
    head: /^✓ svc v1\.5\.0 runs already and is well; nothing was replaced\. \d+ s, away for 2 s$/m,
  },
  refused: {
    exitCode: 3,
    head: /^✗ The update was refused \(pull-unknown\): nothing was changed, v1\.4\.2 runs on\.$/m,
  },
  failed: {
    exitCode: 4,
    head: /^✗ The update failed \(pull-unknown\): nothing was changed, v1\.4\.2 runs on\.$/m,
  },
  broken: { exitCode: 5, head: /^✗ The update has left svc broken \(pull-unknown\): nothing/m },
  cancelled: { exitCode: 143, head: /^✗ The update was cancelled \(pull-unknown\): nothing/m },
  crashed: { exitCode: 1, head: /^✗ The updater crashed \(pull-unknown\): nothing/m },
};

/** Ends as it is told, in the phase `pull` where that is no good end. */
function ending(outcome: (typeof endStates)[number]): Script {
  const isGood = outcome === 'updated' || outcome === 'unchanged';
  const end = isGood ? { outcome, version: 'v1.5.0' } : { outcome, in: 'pull' as const, ...why };
  return { speed: 40, runs: [typicalRun(end)] };
}

describe.concurrent('an update ends', () => {
  it.each(endStates)('%s: its sentence, its exit code, and the same for who comes later', async (outcome) => {
    const { url } = await play(ending(outcome));
    const { exitCode, head } = ends[outcome];
    const first = await svc(url, 'instance update');
    const later = await svc(url, 'instance follow');
    for (const said of [first, later]) {
      expect(said.exitCode, said.out + said.err).toBe(exitCode);
      expect(said.out).toMatch(head);
      if (first.exitCode === 0) continue;
      expect(said.out).toContain(
        `\n  ${why.cause}\n  Next: ${why.advice}\n  The whole log, on the machine: docker logs svc-updater\n`,
      );
    }
    expect(later.out).not.toContain('Updating');
  });

  it('with a word of a newer server', async () => {
    const run = { ...(await ended()), outcome: 'paused', state: 'paused', message: 'it sleeps' };
    const { url } = await play({
      intercept: ({ url }) => (url.endsWith('/progress') ? Response.json(run) : undefined),
    });
    const { out, exitCode } = await svc(url, 'instance follow');
    expect([exitCode, out]).toEqual([1, expect.stringContaining('✗ The update ended “paused”: it sleeps.')]);
    expect(exitCodeOf('toString')).toBe(1);
  });

  it('without a log where nothing was launched', async () => {
    const run = {
      ...(await ended()),
      outcome: 'refused',
      log: null,
      message: 'the dump failed',
      cause: null,
    };
    const { url } = await play({
      intercept: ({ url }) => (url.endsWith('/progress') ? Response.json(run) : undefined),
    });
    const { out, exitCode } = await svc(url, 'instance follow');
    expect([exitCode, out]).toEqual([3, '✗ The update was refused: the dump failed.\n']);
  });

  it('with what the updater warned of, and the build servers that stay behind', async () => {
    const { steps, end } = typicalRun();
    const warned = steps.map((step) =>
      step.state === 'plan'
        ? { ...step, says: [{ message: 'the label says v1.4.9', level: 'warn' as const }] }
        : step,
    );
    const server = (name: string, behind: boolean) => ({
      name,
      version: 'v1.4.2',
      behind,
      command: `update ${name}`,
    });
    const buildServers = [server('build-1', true), server('build-2', false), server('build-30', true)];
    // The server warns of each, too, as it was at the end; what the status has is told once, as it is by now.
    const stays = (name: string) => ({
      message: `build server ${name} stays behind with v1.4.1: update ${name}`,
      level: 'warn' as const,
    });
    const told = warned.map((step) =>
      step.state === 'verify' ? { ...step, says: [stays('build-1'), stays('build-2')] } : step,
    );
    const { url } = await play({ speed: 40, status: { buildServers }, runs: [{ steps: told, end }] });
    const { out } = await svc(url, 'instance update');
    expect(out).toMatch(
      /\n! the label says v1\.4\.9\n2 build servers stay behind:\n {2}build-1 {3}update build-1\n {2}build-30 {2}update build-30\n$/,
    );
  });

  it('by whom it was cancelled, in one sentence', async () => {
    const message = 'cancelled by anna: nothing was changed';
    const run = { ...(await ended()), state: 'cancelled', outcome: 'cancelled', message, log: null };
    const { url } = await play({
      intercept: ({ url }) => (url.endsWith('/progress') ? Response.json(run) : undefined),
    });
    const { out } = await svc(url, 'instance follow');
    expect(out).toBe('✗ The update was cancelled by anna: nothing was changed.\n');
  });

  it('where something else runs than was meant', async () => {
    const { url } = await play({ speed: 40, runs: [typicalRun({ outcome: 'updated', version: 'v1.4.9' })] });
    expect((await svc(url, 'instance update')).out).toMatch(
      /^✓ svc v1\.4\.9 runs; the tag of its image does not lead to v1\.5\.0 yet\. /m,
    );
  });

  it('for programs: each event a line, and nothing else', async () => {
    const { url } = await play(ending('failed'));
    const { out, err, exitCode } = await svc(url, 'instance update --json');
    const events = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(exitCode).toBe(4);
    expect(new Set(events.map(({ event }) => event))).toEqual(new Set(['run', 'line']));
    expect(events.at(-1)).toMatchObject({ event: 'run', data: { outcome: 'failed', code: 'pull-unknown' } });
    expect(err).toMatch(/^✗ The update failed/);
  });
});

describe.concurrent('Ctrl-C', () => {
  it('does not offer to stop what can no longer be stopped', async () => {
    const { url } = await play({ speed: 4, runs: [stayingIn('verify')] });
    const said = await svc(url, 'instance update', {
      onOutput: (text, interrupt) => text.includes('replaced') && interrupt(),
    });
    expect(said.exitCode).toBe(130);
    expect(said.out).toMatch(
      /\nThe update continues\. Follow it: svc instance follow\. It can no longer be cancelled\.\n$/,
    );
  });

  it('ends the following, not the update', async () => {
    let isFollowed = true;
    const { url, updates } = await play({ speed: 4, runs: [stayingIn('pull', () => isFollowed)] });
    const said = await svc(url, 'instance update', {
      onOutput: (text, interrupt) => text.includes('checked') && interrupt(),
    });
    isFollowed = false;
    expect(said.exitCode).toBe(130);
    expect(said.out).toMatch(
      /\nThe update continues\. Follow it: svc instance follow\. Cancel it: svc instance cancel\.\n$/,
    );
    // By itself; who asks while svc is away gets no answer.
    await expect.poll(() => updates.history()).toMatchObject([{ outcome: 'updated' }]);
    expect((await svc(url, 'instance follow')).exitCode).toBe(0);
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('is as good as %s, but for the exit code', async (signal, code) => {
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

  it('says of one that waits that it starts by itself', async () => {
    const job = { kind: 'backup', state: 'running', title: null, since: null, stuck: false } as const;
    const { url } = await play({ jobs: [job, job] });
    const said = await svc(url, 'instance update --when-idle', {
      onOutput: (text, interrupt) => text.includes('Updating') && interrupt(),
    });
    expect(said.exitCode).toBe(130);
    expect(said.out).toMatch(
      /\nIt still waits for 2 jobs and starts by itself\. Stop it: svc instance cancel\.\n$/,
    );
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('says nothing where nothing was begun: %s', async (signal, exitCode) => {
    for (const command of ['status', 'update', 'follow', 'cancel', 'history', 'channel stable']) {
      let hasAsked = () => {};
      const asked = new Promise<void>((resolve) => (hasAsked = resolve));
      const { url } = await play({
        intercept: () => {
          hasAsked();
          return new Promise<never>(() => {});
        },
      });
      const said = await svc(url, `instance ${command}`, { interruptAfter: asked, signal });
      expect(said, command).toEqual({ exitCode, out: '', err: '' });
    }
  });
});

/** A run that has ended, as a server has it. */
async function ended() {
  const { updates } = await play({ speed: 1000 });
  const over = new Promise((resolve) => updates.on('end', resolve));
  await updates.update();
  await over;
  const [run] = await updates.history();
  return { ...run, now: new Date().toISOString() };
}
