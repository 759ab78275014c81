import { describe, expect, it } from 'vitest';
import { toNodeHandler } from '../../src/instance/http/node-handler.ts';
import { createScriptedUpdates, type ScriptedEnd, typicalRun } from '../../src/instance/testing/index.ts';
import { plainStatus } from '../../src/instance/testing/script.ts';
import { afterTests, parseLines, play, serve, svc } from './rig.ts';

const path = ['v1.5.0', 'v2.0.0'];
const latest = plainStatus.latest && { ...plainStatus.latest, version: 'v2.0.0' };
const status = { latest, next: { version: 'v1.5.0', major: false, path } };
const offer = '2 updates, one after the other: v1.5.0, v2.0.0';
const moment = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

interface Play {
  ends?: ScriptedEnd[];
  /** What the platform says between two updates, one for each look at the status; then the next one begins. */
  says?: (string | null)[];
  /** What comes once it has said all that. */
  after?: 'next' | 'late' | 'ended';
  /** The server does not answer. */
  isOff?: () => boolean;
}

/** A server that goes a path: the plays of single updates, with what tells of a path put into each answer. */
async function playPath({ ends = [], says = [null], after = 'next', isOff = () => false }: Play = {}) {
  const runs = path.map((_, at) => typicalRun(ends[at] ?? { outcome: 'updated' }));
  const updates = createScriptedUpdates({ speed: 40, status, runs });
  const posts: unknown[] = [];
  let isOnPath = false;
  let waits: (string | null)[] | null = null;
  let since = '';
  updates.on('end', ({ to, outcome }) => {
    if (!isOnPath || to !== path[0] || outcome !== 'updated') return;
    waits = [...says];
    since = moment(-40);
  });

  async function between(): Promise<object | null> {
    if (waits === null) return null;
    const [words, ...rest] = waits;
    if (words !== undefined) {
      waits = rest;
      return { to: path[1], says: words, since, until: moment(after === 'late' ? 0 : 3600) };
    }
    waits = null;
    if (after === 'next') await updates.update({ target: path[1] ?? '' });
    else isOnPath = false;
    return null;
  }

  async function handle(request: Request): Promise<Response> {
    const { method, url, headers } = request;
    if (isOff()) return Response.error();
    let inner = request;
    if (method === 'POST') {
      const { through, ...order } = (await request.json()) as { through?: true; target: string };
      posts.push({ ...order, ...(through && { through }) });
      isOnPath = through === true;
      const body = JSON.stringify({ ...order, ...(isOnPath && { target: path[0] }) });
      inner = new Request(url, { method, headers, body });
    }
    if (method === 'DELETE' && waits !== null) {
      isOnPath = false;
      waits = null;
      return Response.json({ ...(await updates.history())[0], now: moment(0) }, { status: 202 });
    }
    const told = url.endsWith('/update') && method === 'GET' ? JSON.stringify(await between()) : 'null';
    const response = await updates.handle(inner);
    if (response.type === 'error' || response.body === null) return response;
    const put = (text: string) =>
      text
        .replaceAll('"between":null', `"between":${told}`)
        .replaceAll('"path":[]', `"path":${isOnPath ? JSON.stringify(path) : '[]'}`);
    const body = response.body
      .pipeThrough(new TextDecoderStream() as never)
      .pipeThrough(new TransformStream({ transform: (text, to) => to.enqueue(put(text as string)) }))
      .pipeThrough(new TextEncoderStream());
    return new Response(body, { status: response.status, headers: response.headers });
  }

  await updates.start();
  afterTests(() => updates.close());
  return { url: await serve(toNodeHandler({ ...updates, handle })), posts, updates };
}

describe.concurrent('svc instance update --through', () => {
  it.each<[string, ScriptedEnd[], number, boolean]>([
    ['the first update', [{ outcome: 'failed', code: 'not-healthy' }], 4, false],
    ['the last one', [{ outcome: 'updated' }, { outcome: 'broken' }], 5, true],
  ])('ends as %s does', async (_, ends, code, goesOn) => {
    const { url } = await playPath({ ends });
    const { out, exitCode } = await svc(url, 'instance update --through --yes');
    expect([exitCode, out.includes('2 of 2')]).toEqual([code, goesOn]);
  });

  it('follows one update after the other to the last', async () => {
    const { url, posts } = await playPath({
      says: [null, null, null, '12 rows are left', '12 rows are left.', 'one is left'],
    });
    const { out, exitCode } = await svc(url, 'instance update --through --yes');
    expect([exitCode, posts]).toEqual([0, [{ target: 'v2.0.0', through: true }]]);
    expect(out.match(/^.*(?:of 2|after the other|comes next|not ready|✓).*$/gm)).toEqual([
      offer,
      '1 of 2: Updating svc v1.4.2 → v1.5.0',
      expect.stringMatching(/^✓ svc v1\.5\.0 runs\./),
      'v2.0.0 comes next.',
      expect.stringMatching(/^v1\.5\.0 is not ready for v2\.0\.0 yet: 12 rows are left, for \d+ s$/),
      expect.stringMatching(/^v1\.5\.0 is not ready for v2\.0\.0 yet: one is left, for \d+ s$/),
      '2 of 2: Updating svc v1.5.0 → v2.0.0',
      expect.stringMatching(/^✓ svc v2\.0\.0 runs\./),
    ]);
  });

  it('asks once, with all versions named, where one of them is a major one', async () => {
    const { url, posts } = await playPath();
    const { out, err, exitCode } = await svc(url, 'instance update --through');
    expect([out, exitCode, posts]).toEqual([`${offer}\n`, 2, []]);
    expect(err).toMatch(/^svc: v2\.0\.0 is a major version; migrations only run forward\. .* add --yes\n/);
  });

  it('is one update as ever where the path is no longer, or --target is its first', async () => {
    const { url, posts } = await playPath();
    await svc(url, 'instance update --through --target v1.5.0 --no-follow');
    const plain = await play({ speed: 30 });
    await svc(plain.url, 'instance update --through --no-follow');
    expect([posts, plain.asked.at(-1)]).toEqual([[{ target: 'v1.5.0' }], 'POST  {"target":"v1.5.0"}']);
  });

  it.each([
    ['late', 3, 'v1.5.0 was not ready for v2.0.0 in time: 12 rows are left.'],
    ['ended', 143, 'The path was ended: v2.0.0 does not follow.'],
  ] as const)('says that the path has ended between two: %s', async (after, exitCode, line) => {
    const { url } = await playPath({ says: [null, '12 rows are left'], after });
    const said = await svc(url, 'instance update --through --yes');
    expect(said).toMatchObject({
      exitCode,
      out: expect.stringMatching(`\n${line}\nGo on: svc instance update --through\n$`),
    });
  });

  it('tells programs each run, and what is between them', async () => {
    const { url } = await playPath({ says: [null, 'a', 'a', 'b'] });
    const { out } = await svc(url, 'instance update --through --yes --json');
    const events = parseLines(out);
    const between = events.flatMap(({ event, data }) => (event === 'between' ? [data.says] : []));
    expect(between.filter((says) => says !== null)).toEqual(['a', 'b']);
    expect(new Set(events.map(({ data }) => data.to))).toEqual(new Set(['v1.5.0', undefined, 'v2.0.0']));
    expect(events[0].data.path).toEqual(path);
    const ended = await playPath({ says: [null], after: 'ended' });
    const last = await svc(ended.url, 'instance update --through --yes --json');
    expect(parseLines(last.out).at(-1)).toEqual({ event: 'between', data: null });
  });
});

const forever = Array.from({ length: 100 }, () => 'rows are left');

describe.concurrent('between two updates of a path', () => {
  it('Ctrl-C ends the following, which can be taken up again, and cancel the path', async () => {
    const { url, updates } = await playPath({ says: forever });
    const said = await svc(url, 'instance update --through --yes', {
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
    const run = { id: 'run1', state: 'verify', to: 'v1.5.0', startedAt: moment(-9), now: moment(0), path };
    const { url } = await play({
      open: { steps: [{ state: 'verify', seconds: 600 }], end: { outcome: 'updated' } },
      intercept: ({ method, url }) =>
        method === 'GET' && url.endsWith('/progress') ? Response.json(run) : undefined,
    });
    const { out, exitCode } = await svc(url, 'instance cancel');
    expect([exitCode, out]).toEqual([
      3,
      'The containers are being replaced: it goes on to its end.\nv2.0.0 comes next. Stop it: svc instance cancel\n',
    ]);
  });

  it('a server that does not answer is given up after --timeout', async () => {
    let isOff = false;
    const { url } = await playPath({ says: forever, isOff: () => isOff });
    const said = await svc(url, 'instance update --through --yes --timeout 3', {
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
      `\n${offer} (svc instance update --through)\nIt can be updated now`,
    );
    const { out } = await svc(url, 'instance update --no-follow');
    expect(out).toMatch(
      /^v1\.5\.0 has to come before v2\.0\.0: --through goes on to that\.\nThe update to v1\.5\.0 has/,
    );
    expect(asked.at(-1)).toBe('POST  {"target":"v1.5.0"}');
  });
});
