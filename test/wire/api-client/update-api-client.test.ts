import { describe, expect, it } from 'vitest';
import { createScriptedUpdates, type ScriptedRun, typicalRun } from '../../../src/server/testing/index.ts';
import { fetchReport } from '../../../src/wire/api-client/fetch-report.ts';
import { followRun, type RunFollowEvent } from '../../../src/wire/api-client/run-follow-events.ts';
import { UpdateApiClient } from '../../../src/wire/api-client/update-api-client.ts';
import type { PhaseName } from '../../../src/wire/codes.ts';

const address = 'https://svc.test/api/v1/instance/update';
const withAnswer = (answer: () => Response | Promise<Response>) =>
  new UpdateApiClient({ address, fetch: async () => answer(), deadlines: { read: 200 } });
const typed = (body: string, type: string, status = 200) =>
  new Response(body, { status, headers: { 'Content-Type': type } });
const json = 'application/json; charset=utf-8';
const problem = 'application/problem+json';

describe('a response', () => {
  it.each<[string, () => Response | Promise<Response>, object]>([
    ['a status', () => typed('{"version":"v1.4.2","channel":"stable"}', json), { kind: 'ok' }],
    [
      "a user's status",
      () => typed('{"version":"v1.4.2","updating":true}', json),
      { kind: 'ok', value: { version: 'v1.4.2', updating: true } },
    ],
    [
      'a problem',
      () => typed('{"detail":"no"}', problem, 409),
      { kind: 'problem', problem: { status: 409, detail: 'no' } },
    ],
    [
      'a log-in of svc',
      () => typed('{"detail":"Log in first."}', problem, 401),
      { kind: 'logged-out', status: 401 },
    ],
    [
      'a redirect',
      () => new Response(null, { status: 302, headers: { Location: '/login' } }),
      { kind: 'logged-out', location: '/login' },
    ],
    [
      'a page',
      () => typed('<p>', 'text/html'),
      { kind: 'none', why: { what: 'other', status: 200, type: 'text/html' } },
    ],
    ['JSON of another shape', () => typed('[1]', json), { kind: 'none', why: { what: 'other' } }],
  ])('is classified: %s', async (_, answer, expected) => {
    expect(await withAnswer(answer).fetchStatus()).toMatchObject(expected);
  });

  it('whose body does not arrive in time is classified as late, even for a report', async () => {
    const slow: typeof fetch = async (_, init) => {
      const { signal } = init ?? {};
      const start = (controller: ReadableStreamDefaultController) =>
        signal?.addEventListener('abort', () => controller.error(signal.reason));
      return new Response(new ReadableStream({ start }), { headers: { 'Content-Type': 'application/gzip' } });
    };
    const reader = new UpdateApiClient({ address, fetch: slow });
    const found = await fetchReport(reader, new AbortController().signal, 100);
    expect(found).toMatchObject({ kind: 'none', why: { what: 'late' } });
  });

  it('that does not arrive in time is classified as late', async () => {
    const hanging: typeof fetch = (_, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)));
    const reader = new UpdateApiClient({ address, fetch: hanging, deadlines: { read: 50 } });
    expect(await reader.fetchRun()).toEqual({ kind: 'none', why: { what: 'late' } });
    expect(await reader.openEventStream(null, new AbortController().signal)).toEqual({
      kind: 'none',
      why: { what: 'late' },
    });
  });

  it('is requested without redirects and without a cache', async () => {
    const asked: [unknown, object][] = [];
    let count = 0;
    const reader = new UpdateApiClient({
      address,
      headers: () => ({ authorization: `Bearer ${count++}`, ACCEPT: '*/*', 'content-type': 'a/b' }),
      fetch: async (url, init) => {
        asked.push([url, { ...init, headers: Object.fromEntries(init?.headers as Headers) }]);
        return typed('{}', problem, 500);
      },
    });
    await reader.startUpdate({ target: 'v1.5.0', when: 'idle' });
    await reader.openEventStream('run1:7', new AbortController().signal);
    expect(asked).toMatchObject([
      [
        address,
        {
          method: 'POST',
          body: '{"target":"v1.5.0","when":"idle"}',
          redirect: 'manual',
          cache: 'no-store',
          headers: {
            authorization: 'Bearer 0',
            accept: 'application/json',
            'content-type': 'application/json',
          },
        },
      ],
      [`${address}/progress?lastEventId=run1%3A7`, { method: 'GET', redirect: 'manual' }],
    ]);
    const headers = { authorization: 'Bearer 1', accept: 'text/event-stream' };
    expect(asked[1]?.[1]).toHaveProperty('headers', headers);
  });

  it('is not requested if the headers cannot be created, as after a redirect to a login page', async () => {
    const fetch = async () => expect.unreachable();
    const headers = () => Promise.reject(new Error('no answer'));
    const reader = new UpdateApiClient({ address, headers, fetch });
    expect(await reader.fetchRun()).toMatchObject({ kind: 'logged-out', status: 302 });
  });

  it('is not requested if no user is logged in', async () => {
    const fetch = async () => expect.unreachable();
    const reader = new UpdateApiClient({ address, headers: async () => null, fetch });
    const found = [
      await reader.fetchStatus(),
      await reader.startUpdate({ target: 'v1.5.0' }),
      await reader.openEventStream(null, new AbortController().signal),
    ];
    expect(found).toMatchObject(Array(3).fill({ kind: 'logged-out', status: 401 }));
  });
});

describe('following a run', () => {
  const timing = { firstPause: 10, longestPause: 40, silence: 100, unknown: 60, poll: 20 };
  async function follow(fetch: (request: Request) => Promise<Response> | Response, run = 'run1') {
    const reader = new UpdateApiClient({
      address,
      fetch: async (url, init) => fetch(new Request(url as string, init)),
      deadlines: { read: 200 },
    });
    const news: RunFollowEvent[] = [];
    const signal = AbortSignal.timeout(60_000);
    for await (const one of followRun(reader, { runId: run, signal, timing })) news.push(one);
    return news;
  }
  const isStream = ({ headers }: Request) => headers.get('accept') === 'text/event-stream';

  it('falls back to polling if the stream is buffered or unavailable', async () => {
    for (const held of ['head', 'events', 'all']) {
      const updates = createScriptedUpdates({ speed: 30 });
      await updates.start();
      await updates.update();
      let streams = 0;
      const news = await follow((request) => {
        if (!isStream(request)) return updates.handle(request);
        streams++;
        if (held === 'events') return streamOf(request.signal);
        if (held === 'all') return typed('{"detail":"100 event streams are already open."}', problem, 503);
        return new Promise((_, reject) =>
          request.signal.addEventListener('abort', () => reject(request.signal.reason)),
        );
      });
      expect(news.at(-1)).toMatchObject({ kind: 'run', run: { outcome: 'updated' } });
      // A response that all streams are in use is not a rejection.
      const refused = expect.objectContaining({ kind: 'problem' });
      expect(news).not.toContainEqual({ kind: 'unheard', refused });
      if (held !== 'all') expect(streams).toBe(1);
      await updates.close();
    }
  });

  it('resumes after the last event and receives each line once', async () => {
    let streams = 0;
    const updates = createScriptedUpdates({ speed: 30, runs: [lasting('verify', () => streams < 3)] });
    await updates.start();
    const all: string[] = [];
    updates.on('line', ({ line }) => void all.push(line.message));
    await updates.update();
    const news = await follow(async (request) => {
      const answer = await updates.handle(request);
      if (!isStream(request)) return answer;
      streams++;
      // Each stream fails after two chunks.
      return answer.body ? new Response(first(answer.body, 2), answer) : answer;
    });
    const lines = news.flatMap((one) =>
      one.kind === 'line' ? [(one.line as { message: string }).message] : [],
    );
    expect(streams).toBeGreaterThan(2);
    expect(lines.length).toBeGreaterThan(4);
    expect(lines).toEqual(all.slice(all.indexOf(lines[0] ?? '')));
    expect(news.at(-1)).toMatchObject({ kind: 'run', run: { outcome: 'updated' } });
    await updates.close();
  });

  it('finds the result of the run in the history if another run has started', async () => {
    const updates = createScriptedUpdates({ speed: 200, runs: [] });
    await updates.start();
    for (const _ of [1, 2]) {
      const over = new Promise((resolve) => updates.on('end', resolve));
      await updates.update({ target: 'v1.6.0' });
      await over;
    }
    expect(await follow((request) => updates.handle(request))).toMatchObject([
      { kind: 'run', run: { id: 'run1', outcome: 'updated' } },
    ]);
    const unknown = await follow((request) => updates.handle(request), 'run7');
    expect(unknown.at(-1)).toEqual({ kind: 'unknown' });
    await updates.close();
  });
});

/** A run that stays in a state while `lasts` returns true, however late its follower is. */
function lasting(state: PhaseName, lasts: () => boolean): ScriptedRun {
  const { steps, end } = typicalRun();
  return { steps: steps.map((step) => (step.state === state ? { ...step, lasts } : step)), end };
}

/** A stream that opens and sends no event. */
function streamOf(signal: AbortSignal): Response {
  const body = new ReadableStream({
    start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason)),
  });
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
}

/** The first chunks of a stream, which then fails. */
function first(body: ReadableStream<Uint8Array>, count: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let given = 0;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = given++ < count ? await reader.read() : { done: true, value: undefined };
      if (value) controller.enqueue(value);
      if (!done) return;
      await reader.cancel();
      controller.error(new Error('cut'));
    },
  });
}
