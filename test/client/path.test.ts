import { describe, expect, it } from 'vitest';
import { type Script, type ScriptedEnd, typicalRun } from '../../src/instance/testing/index.ts';
import { plainStatus } from '../../src/instance/testing/script.ts';
import { parseLines, play, stayingIn, svc } from './rig.ts';

const path = ['v1.5.0', 'v2.0.0'];
const latest = plainStatus.latest && { ...plainStatus.latest, version: 'v2.0.0' };
const status = { latest, next: { version: 'v1.5.0', major: false, upgradePath: path } };
const offer = '2 updates, one after the other: v1.5.0, v2.0.0';
const moment = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

interface Play extends Partial<Script> {
  /** Of the updates. Default `updated`. */
  ends?: ScriptedEnd[];
  /** Why the platform is not ready for the second one. */
  says?: string;
}

/**
 * A server that goes a path. What is between its two updates lasts until the client has printed a text, or for ever; the
 * second update until the client follows it.
 */
async function playPath(until: string | null, { ends = [], says, ...more }: Play = {}) {
  let isOver = false;
  let isFollowed = false;
  const onOutput = (text: string) => {
    isOver ||= until !== null && text.includes(until);
    isFollowed ||= /2 of 2|"from":"v1.5.0"/.test(text);
  };
  const { steps, end } = stayingIn('pull', () => !isFollowed);
  const runs = [typicalRun(ends[0] ?? end), { steps, end: ends[1] ?? end }];
  const between = { seconds: 0, lasts: () => !isOver, ...(says !== undefined && { reason: says }) };
  return {
    ...(await play({ speed: 40, status, runs, pendingSteps: [between], ...more })),
    typing: { onOutput },
  };
}
const endPath = (url: string) => fetch(`${url}/api/v1/instance/update/progress`, { method: 'DELETE' });

describe.concurrent('svc instance update --all-steps', () => {
  it.each<[string, ScriptedEnd[], number, boolean]>([
    ['the first update', [{ outcome: 'failed', code: 'not-healthy' }], 4, false],
    ['the last one', [{ outcome: 'updated' }, { outcome: 'broken' }], 5, true],
  ])('ends as %s does', async (_, ends, code, goesOn) => {
    const { url, typing } = await playPath('\nv2.0.0 comes next.\n', { ends });
    const { out, exitCode } = await svc(url, 'instance update --all-steps --yes', typing);
    expect([exitCode, out.includes('2 of 2')]).toEqual([code, goesOn]);
  });

  it('follows one update after the other to the last', async () => {
    const { url, asked, typing } = await playPath('not ready', { says: '12 rows are left' });
    const { out, exitCode } = await svc(url, 'instance update --all-steps --yes', typing);
    expect([exitCode, asked.filter((one) => one.startsWith('POST'))]).toEqual([
      0,
      ['POST  {"target":"v2.0.0","allSteps":true}'],
    ]);
    expect(out.match(/^.*(?:of 2|after the other|not ready|✓).*$/gm)).toEqual([
      offer,
      '1 of 2: Updating svc v1.4.2 → v1.5.0',
      expect.stringMatching(/^✓ svc v1\.5\.0 runs\./),
      expect.stringMatching(/^v1\.5\.0 is not ready for v2\.0\.0 yet: 12 rows are left, for \d+ s$/),
      '2 of 2: Updating svc v1.5.0 → v2.0.0',
      expect.stringMatching(/^✓ svc v2\.0\.0 runs\./),
    ]);
  });

  it('asks once, with all versions named, where one of them is a major one', async () => {
    const { url, asked } = await playPath(null);
    const { out, err, exitCode } = await svc(url, 'instance update --all-steps');
    expect([out, exitCode, asked]).toEqual([`${offer}\n`, 2, ['GET']]);
    expect(err).toMatch(/^svc: v2\.0\.0 is a major version; migrations only run forward\. .* add --yes\n/);
  });

  it('is one update as ever where the path is no longer, or --target is its first', async () => {
    for (const [more, words] of [
      [{ status }, ' --target v1.5.0'],
      [{}, ''],
    ] as const) {
      const { url, asked } = await play({ speed: 30, ...more });
      await svc(url, `instance update --all-steps${words} --no-follow`);
      expect(asked.at(-1)).toBe('POST  {"target":"v1.5.0"}');
    }
  });

  it('says that the platform was not ready in time', async () => {
    const { url, updates } = await playPath(null, {
      says: '12 rows are left',
      // What the server tells of the wait, which is over by then.
      intercept: async (request) => {
        if (request.method !== 'GET' || !request.url.endsWith('/update') || request.headers.has('inner'))
          return undefined;
        const answer = await updates.handle(new Request(request.url, { headers: { inner: 'yes' } }));
        return new Response(
          (await answer.text()).replace(/"until":"[^"]+"/, `"until":"${moment(0)}"`),
          answer,
        );
      },
    });
    const said = await svc(url, 'instance update --all-steps --yes', {
      onOutput: (text) => text.includes('not ready') && endPath(url),
    });
    expect(said).toMatchObject({
      exitCode: 3,
      out: expect.stringMatching(
        /\nv1\.5\.0 was not ready for v2\.0\.0 in time: 12 rows are left\.\nGo on: svc instance update --all-steps\n$/,
      ),
    });
  });

  it('tells programs each run, and what is between them', async () => {
    const { url, typing } = await playPath('"reason":"a"', { says: 'a' });
    const { out } = await svc(url, 'instance update --all-steps --yes --json', typing);
    const events = parseLines(out);
    const reasons = events.flatMap(({ event, data }) => (event === 'pendingStep' ? [data.reason] : []));
    expect(reasons).toEqual(['a']);
    expect(new Set(events.map(({ data }) => data.to))).toEqual(new Set(['v1.5.0', undefined, 'v2.0.0']));
    expect(events[0].data.upgradePath).toEqual(path);
    const ended = await playPath(null);
    const last = await svc(ended.url, 'instance update --all-steps --yes --json', {
      onOutput: (text) => text.includes('"pendingStep"') && endPath(ended.url),
    });
    expect(parseLines(last.out).at(-1)).toEqual({ event: 'pendingStep', data: null });
  });
});

describe.concurrent('between two updates of a path', () => {
  it('Ctrl-C ends the following, which can be taken up again, and cancel the path', async () => {
    const { url, updates } = await playPath(null, { says: 'rows are left' });
    const said = await svc(url, 'instance update --all-steps --yes', {
      onOutput: (text, interrupt) => text.includes('not ready') && interrupt(),
    });
    expect(said).toMatchObject({
      exitCode: 130,
      out: expect.stringMatching(
        /\nThe update to v2\.0\.0 comes next, by itself\. Follow it: svc instance follow\. Stop it: svc instance cancel\.\n$/,
      ),
    });
    expect((await svc(url, 'instance status')).out).toMatch(
      /^v1\.5\.0 is not ready for v2\.0\.0 yet: rows are left, for \d+ s\nFollow it: svc instance follow\. Stop it: svc instance cancel$/m,
    );
    const { promise: isFollowed, resolve: follows } = Promise.withResolvers<void>();
    const following = svc(url, 'instance follow', {
      onOutput: (text) => text.includes('not ready') && follows(),
    });
    await isFollowed;
    expect(await svc(url, 'instance cancel')).toMatchObject({
      exitCode: 0,
      out: '✓ No further update follows: svc v1.5.0 stays.\n',
    });
    const { out, exitCode } = await following;
    expect(exitCode).toBe(143);
    expect(out).toMatch(
      /^✓ svc v1\.5\.0 runs\..*\n(?:v.*\n)*The path was ended: v2\.0\.0 does not follow\.\n/,
    );
    expect(await updates.history()).toHaveLength(1);
  });

  it('cancel that comes too late for one says that another follows', async () => {
    const run = {
      id: 'run1',
      state: 'verify',
      to: 'v1.5.0',
      startedAt: moment(-9),
      now: moment(0),
      upgradePath: path,
    };
    const { url } = await play({
      open: { steps: [{ state: 'verify', seconds: 600 }], end: { outcome: 'updated' } },
      intercept: ({ method, url }) =>
        method === 'GET' && url.endsWith('/progress') ? Response.json(run) : undefined,
    });
    const { out, exitCode } = await svc(url, 'instance cancel');
    expect([exitCode, out]).toEqual([
      3,
      'The containers are being replaced, so the update can no longer be cancelled.\nv2.0.0 comes next. Stop it: svc instance cancel\n',
    ]);
  });

  it('a server that does not answer is given up after --timeout', async () => {
    let isOff = false;
    const { url } = await playPath(null, {
      says: 'rows are left',
      intercept: () => (isOff ? Response.error() : undefined),
    });
    const said = await svc(url, 'instance update --all-steps --yes --timeout 3', {
      onOutput: (text) => {
        isOff ||= text.includes('not ready');
      },
    });
    expect(said.exitCode).toBe(1);
    expect(said.out).toMatch(
      /\nNo answer from svc for \d+ s\. Check your connection; the update continues on the server\.\n(?:.*\n)*svc has not answered for 3 s/,
    );
  });
});

describe.concurrent('a path that is offered', () => {
  it('is told with the status, and by an update that goes only a part of it', async () => {
    const { url, asked } = await play({ speed: 30, status });
    expect((await svc(url, 'instance status')).out).toContain(
      `\n${offer} (svc instance update --all-steps)\nIt can be updated now`,
    );
    const { out } = await svc(url, 'instance update --no-follow');
    expect(out).toMatch(
      /^v1\.5\.0 has to come before v2\.0\.0: --all-steps goes on to that\.\nThe update to v1\.5\.0 has/,
    );
    expect(asked.at(-1)).toBe('POST  {"target":"v1.5.0"}');
  });
});
