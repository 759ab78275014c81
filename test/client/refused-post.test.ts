import { describe, expect, it } from 'vitest';
import { type Script, typicalRun } from '../../src/instance/testing/index.ts';
import { play, svc } from './rig.ts';

const answering = (method: string, status: number, body: object, headers = {}): Script => ({
  intercept: (request) =>
    request.method === method
      ? new Response(JSON.stringify(body), {
          status,
          headers: { 'Content-Type': 'application/problem+json', ...headers },
        })
      : undefined,
});

describe.concurrent('the request for an update is refused', () => {
  it.each<[number, object, number, string]>([
    [400, { detail: 'there is no such release' }, 2, 'URL answered 400: There is no such release.\n'],
    [413, { detail: 'The body is too large.' }, 2, 'URL answered 413: The body is too large.\n'],
    [415, { detail: 'The body has to be JSON.' }, 2, 'URL answered 415: The body has to be JSON.\n'],
    [409, { detail: 'a conflict' }, 3, 'It cannot be updated now: A conflict.\n'],
    [429, { detail: 'Too many requests.' }, 3, 'It cannot be updated now: Too many requests.\n'],
    [503, { detail: 'Not now.' }, 3, 'It cannot be updated now: Not now.\n'],
    [
      409,
      { detail: 'x', reason: { code: 'moon', message: 'the moon is full' } },
      3,
      'It cannot be updated now: the moon is full.\n',
    ],
  ])('with %d %j, said once and to programs as the document', async (status, body, code, sentence) => {
    const { url, asked } = await play(answering('POST', status, body));
    const { out, err, exitCode } = await svc(url, 'instance update --json');
    expect([exitCode, err.replaceAll(url, 'URL')]).toEqual([code, sentence]);
    expect(JSON.parse(out)).toMatchObject({ status, ...body });
    expect(asked.filter((one) => one.startsWith('POST'))).toHaveLength(1);
  });

  it('as somebody was faster: it says whose is on, and how to follow it', async () => {
    const { url, updates } = await play({
      runs: [typicalRun()],
      intercept: async ({ method }) => {
        if (method === 'POST') await updates.update({ target: 'v1.5.0', by: 'anna' });
        return undefined;
      },
    });
    const { out, exitCode } = await svc(url, 'instance update');
    expect([exitCode, out]).toEqual([
      3,
      expect.stringMatching(
        /^An update to v1\.5\.0 is on already, started by anna, \d+ s ago\.\nFollow it: svc instance follow\n$/,
      ),
    ]);
  });

  it.each([301, 307, 401])('with %d: nothing is sent anywhere else', async (status) => {
    const headers = { Location: 'https://svc.test/api/v1/instance/update' };
    const { url, asked } = await play(answering('POST', status, {}, headers));
    expect((await svc(url, 'instance update')).exitCode).toBe(2);
    expect(asked).toEqual(['GET', 'POST  {"target":"v1.5.0"}']);
    const open = await play({ ...answering('DELETE', status, {}, headers), open: typicalRun() });
    const { err, exitCode } = await svc(open.url, 'instance cancel');
    expect([exitCode, open.asked]).toEqual([2, ['GET /progress', 'DELETE /progress']]);
    expect(err).not.toContain('not known');
  });
});
