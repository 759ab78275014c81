import { describe, expect, it } from 'vitest';
import { type Script, type ScriptedEnd, typicalRun } from '../../src/server/testing/index.ts';
import { defaultScriptedStatus } from '../../src/server/testing/script.ts';
import { parseLines, play, stayingIn, svc } from './rig.ts';

const path = ['v1.5.0', 'v2.0.0'];
const latest = defaultScriptedStatus.latest && { ...defaultScriptedStatus.latest, version: 'v2.0.0' };
const status = { latest, next: { version: 'v1.5.0', major: false, upgradePath: path } };
const offer = 'Upgrade path: v1.4.2 → v1.5.0 → v2.0.0 (2 updates)';
const moment = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

interface Play extends Partial<Script> {
  /** Results of the two updates. Default: `updated`. */
  ends?: ScriptedEnd[];
  /** Why the platform is not ready for the second update. */
  says?: string;
}

/**
 * A server with an upgrade path. The pause between the two updates lasts until the client has printed a text, or forever;
 * the second update lasts until the client follows it.
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

/** Cancels the path once the client has printed a text. The test awaits the response before the server is closed. */
function endPathAfter(text: string, url: string) {
  let answer: Promise<Response> | undefined;
  return {
    onOutput: (printed: string) => {
      if (printed.includes(text))
        answer ??= fetch(`${url}/api/v1/instance/update/progress`, { method: 'DELETE' });
    },
    answer: () => answer,
  };
}

describe.concurrent('svc instance update --all-steps', () => {
  it.each<[string, ScriptedEnd[], number, boolean]>([
    ['the first update', [{ outcome: 'failed', code: 'not-healthy' }], 4, false],
    ['the last one', [{ outcome: 'updated' }, { outcome: 'broken' }], 5, true],
  ])('exits with the code of %s', async (_, ends, code, goesOn) => {
    const { url, typing } = await playPath('\nWaiting for the next update on the upgrade path: v2.0.0.\n', {
      ends,
    });
    const { out, exitCode } = await svc(url, 'instance update --all-steps --yes', typing);
    expect([exitCode, out.includes('2 of 2')]).toEqual([code, goesOn]);
  });

  it('follows all updates of the path', async () => {
    const { url, asked, typing } = await playPath('not ready', { says: '12 rows are left' });
    const { out, exitCode } = await svc(url, 'instance update --all-steps --yes', typing);
    expect([exitCode, asked.filter((one) => one.startsWith('POST'))]).toEqual([
      0,
      ['POST  {"target":"v2.0.0","allSteps":true}'],
    ]);
    expect(out.match(/^.*(?:of 2|Upgrade path|not ready|✓).*$/gm)).toEqual([
      offer,
      '1 of 2: Updating svc v1.4.2 → v1.5.0',
      expect.stringMatching(/^✓ Updated to v1\.5\.0 in /),
      expect.stringMatching(/^v1\.5\.0 is not ready for v2\.0\.0 yet: 12 rows are left \(\d+ s so far\)$/),
      '2 of 2: Updating svc v1.5.0 → v2.0.0',
      expect.stringMatching(/^✓ Updated to v2\.0\.0 in /),
    ]);
  });

  it('requires one confirmation if the path contains a major version', async () => {
    const { url, asked } = await playPath(null);
    const { out, err, exitCode } = await svc(url, 'instance update --all-steps');
    expect([out, exitCode, asked]).toEqual([`${offer}\n`, 2, ['GET']]);
    expect(err).toMatch(
      /^svc: v2\.0\.0 is a major version\. Migrations cannot be undone\. .* confirm with --yes\.\n/,
    );
  });

  it('requests a single update if the path has only one step', async () => {
    for (const [more, words] of [
      [{ status }, ' --target v1.5.0'],
      [{}, ''],
    ] as const) {
      const { url, asked } = await play({ speed: 30, ...more });
      await svc(url, `instance update --all-steps${words} --no-follow`);
      expect(asked.at(-1)).toBe('POST  {"target":"v1.5.0"}');
    }
  });

  it('reports that the platform was not ready in time', async () => {
    const { url, updates } = await playPath(null, {
      says: '12 rows are left',
      // Lets the server report a deadline that has passed.
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
    const { onOutput, answer } = endPathAfter('not ready', url);
    const said = await svc(url, 'instance update --all-steps --yes', { onOutput });
    await answer();
    expect(said).toMatchObject({
      exitCode: 3,
      out: expect.stringMatching(
        /\nv1\.5\.0 did not become ready for the update to v2\.0\.0 before the deadline: 12 rows are left\.\nTo continue: svc instance update --all-steps\n$/,
      ),
    });
  });

  it('prints each run and each pending step as JSON', async () => {
    const { url, typing } = await playPath('"reason":"a"', { says: 'a' });
    const { out } = await svc(url, 'instance update --all-steps --yes --json', typing);
    const events = parseLines(out);
    const reasons = events.flatMap(({ event, data }) => (event === 'pendingStep' ? [data.reason] : []));
    expect(reasons).toEqual(['a']);
    expect(new Set(events.map(({ data }) => data.to))).toEqual(new Set(['v1.5.0', undefined, 'v2.0.0']));
    expect(events[0].data.upgradePath).toEqual(path);
    const ended = await playPath(null);
    const { onOutput, answer } = endPathAfter('"pendingStep"', ended.url);
    const last = await svc(ended.url, 'instance update --all-steps --yes --json', { onOutput });
    await answer();
    expect(parseLines(last.out).at(-1)).toEqual({ event: 'pendingStep', data: null });
  });
});

describe.concurrent('between two steps of an upgrade path', () => {
  it('Ctrl-C stops following, svc instance follow resumes it, and svc instance cancel cancels the path', async () => {
    const { url, updates } = await playPath(null, { says: 'rows are left' });
    const said = await svc(url, 'instance update --all-steps --yes', {
      onOutput: (text, interrupt) => text.includes('not ready') && interrupt(),
    });
    expect(said).toMatchObject({
      exitCode: 130,
      out: expect.stringMatching(
        /\nThe update to v2\.0\.0 will start automatically\. To follow its progress: svc instance follow\. To cancel: svc instance cancel\.\n$/,
      ),
    });
    expect((await svc(url, 'instance status')).out).toMatch(
      /^v1\.5\.0 is not ready for v2\.0\.0 yet: rows are left \(\d+ s so far\)\nTo follow the update: svc instance follow\. To cancel it: svc instance cancel$/m,
    );
    const { promise: isFollowed, resolve: follows } = Promise.withResolvers<void>();
    const following = svc(url, 'instance follow', {
      onOutput: (text) => text.includes('not ready') && follows(),
    });
    await isFollowed;
    expect(await svc(url, 'instance cancel')).toMatchObject({
      exitCode: 0,
      out: '✓ Upgrade path cancelled. svc v1.5.0 is still running.\n',
    });
    const { out, exitCode } = await following;
    expect(exitCode).toBe(143);
    expect(out).toMatch(
      /^✓ Updated to v1\.5\.0 in .*\n(?:v.*\n)*The upgrade path was cancelled; v2\.0\.0 was not installed\.\n/,
    );
    expect(await updates.history()).toHaveLength(1);
  });

  it('svc instance cancel prints the next step if the current step can no longer be cancelled', async () => {
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
      'The containers of svc are being replaced, so the update can no longer be cancelled.\nv2.0.0 will be installed next. To cancel: svc instance cancel\n',
    ]);
  });

  it('the client stops following after --timeout without a response', async () => {
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
      /\nNo response from svc for \d+ s\. Check your connection\. The update continues on the server\.\n(?:.*\n)*svc has not responded for 3 s/,
    );
  });
});

describe.concurrent('an available upgrade path', () => {
  it('is printed by svc instance status, and by an update to its first step', async () => {
    const { url, asked } = await play({ speed: 30, status });
    const shown = (await svc(url, 'instance status')).out;
    expect(shown).toContain(`\n${offer}\n2 updates are required.`);
    expect(shown).toContain('\nTo update now: svc instance update --all-steps\n');
    const { out } = await svc(url, 'instance update --no-follow');
    expect(out).toMatch(
      /^v1\.5\.0 must be installed before v2\.0\.0\. To continue to v2\.0\.0 automatically, use --all-steps\.\nThe update to v1\.5\.0 has/,
    );
    expect(asked.at(-1)).toBe('POST  {"target":"v1.5.0"}');
  });
});
