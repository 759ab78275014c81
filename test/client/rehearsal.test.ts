import { describe, expect, it, vi } from 'vitest';
import type { Rehearsal } from '../../src/wire/status.ts';
import { play, svc } from './rig.ts';

const posts = (asked: readonly string[]) => asked.filter((one) => /^(?:POST|DELETE)/.test(one));
const success =
  /^Copying the data\.\nThe rehearsal of v1\.5\.0 succeeded: v1\.5\.0 became ready .+ after 43 s\. Rehearsed \d+ \w+ ago\.\n$/;

describe.concurrent('svc instance rehearse', () => {
  it.each<[string, object, number, RegExp]>([
    ['a success', {}, 0, success],
    [
      'a failure',
      { state: 'failed', readySeconds: null, message: 'v1.5.0 exited\u202e', advice: 'See its log.' },
      4,
      /^The rehearsal of v1\.5\.0 failed: v1\.5\.0 exited\\u202e\. See its log\. Rehearsed/m,
    ],
    [
      'no result',
      { state: 'inconclusive', readySeconds: null, message: 'v1.4.2 exited' },
      3,
      /^The rehearsal of v1\.5\.0 had no result: v1\.4\.2 exited\. Rehearsed/m,
    ],
  ])('tries the offered version and prints %s', async (_, rehearsal, code, form) => {
    const { url, asked } = await play({ speed: 4, rehearsal });
    const { out, err, exitCode } = await svc(url, 'instance rehearse');
    expect([err, exitCode, posts(asked)]).toEqual(['', code, ['POST /rehearsal {"target":"v1.5.0"}']]);
    expect(out).toMatch(form);
  });

  it('passes the target and values of new settings', async () => {
    const { url, asked } = await play({ speed: 4 });
    const { exitCode } = await svc(url, 'instance rehearse --target v1.6.0 --set A=b=c');
    expect([exitCode, posts(asked)]).toEqual([
      0,
      ['POST /rehearsal {"target":"v1.6.0","settings":{"A":"b=c"}}'],
    ]);
  });

  it('cancels a rehearsal, which ends the command that follows it', async () => {
    const { url, updates } = await play({ speed: 0.01 });
    expect(await svc(url, 'instance rehearse --cancel')).toMatchObject({
      out: 'No rehearsal is running.\n',
      exitCode: 3,
    });
    const following = svc(url, 'instance rehearse');
    await vi.waitUntil(async () => (await updates.status()).rehearsal !== null, { timeout: 30_000 });
    const again = await svc(url, 'instance rehearse');
    expect(again).toMatchObject({ err: '', exitCode: 3 });
    expect(again.out).toBe('Cannot rehearse now: a rehearsal of v1.5.0 is already running.\n');
    const cancelled = await svc(url, 'instance rehearse --cancel');
    expect([cancelled.exitCode, cancelled.out]).toEqual([
      0,
      expect.stringMatching(/^The rehearsal of v1\.5\.0 was cancelled/),
    ]);
    expect(await following).toMatchObject({ err: '', exitCode: 3 });
  });

  it('explains why nothing can be tried', async () => {
    const upToDate = { code: 'newest', message: 'v1.4.2 is the newest on stable' } as const;
    const { url, asked } = await play({ status: { next: null, upToDate } });
    expect(await svc(url, 'instance rehearse')).toMatchObject({ exitCode: 0, err: '' });
    expect(posts(asked)).toEqual([]);
  });

  it.each(['--cancel --target v1.5.0', '--cancel --set A=b'])('rejects the options %s', async (words) => {
    const { url, asked } = await play();
    const { err, exitCode } = await svc(url, `instance rehearse ${words}`);
    expect([exitCode, asked]).toEqual([2, []]);
    expect(err).toMatch(/^svc: --cancel cannot be combined with --target or --set\.\n/);
  });

  it('continues on the server after Ctrl-C', async () => {
    const { url, updates } = await play({ speed: 0.01 });
    const { err, exitCode } = await svc(url, 'instance rehearse', {
      onOutput: (said, interrupt) => said.includes('Copying the data') && interrupt(),
    });
    expect([exitCode, err]).toEqual([
      130,
      expect.stringMatching(/^The rehearsal continues\. To cancel it: /),
    ]);
    expect((await updates.status()).rehearsal?.state).toBe('running');
  });

  it('ends without a result if the version has been installed', async () => {
    let isStarted = false;
    const installed = { version: 'v1.5.0', channel: 'stable', now: new Date().toISOString() };
    const { url } = await play({
      intercept: ({ method }) => {
        if (isStarted && method === 'GET') return Response.json(installed);
        isStarted ||= method === 'POST';
        return undefined;
      },
    });
    const { out, exitCode } = await svc(url, 'instance rehearse');
    expect([exitCode, out]).toEqual([3, 'v1.5.0 is running now.\n']);
  });

  it('fails if the server does not support rehearsals', async () => {
    const { url } = await play({
      speed: 0.01,
      intercept: (request) =>
        new URL(request.url).pathname.endsWith('/rehearsal')
          ? new Response(null, { status: 404 })
          : undefined,
    });
    const { err, exitCode } = await svc(url, 'instance rehearse');
    expect([exitCode, err]).toEqual([2, expect.stringMatching(/./)]);
  });

  it('shows a result in the status', async () => {
    const rehearsal: Rehearsal = {
      ...{ version: 'v1.5.0', state: 'failed', startedAt: new Date().toISOString(), by: 'anna', log: null },
      ...{ endedAt: new Date().toISOString(), message: 'app exited', advice: null, readySeconds: null },
    };
    const { url } = await play({ status: { rehearsal } });
    expect((await svc(url, 'instance status')).out).toContain(
      'The rehearsal of v1.5.0 failed: App exited. Rehearsed',
    );
  });
});
