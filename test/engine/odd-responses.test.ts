import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { EngineApi } from '../../src/engine/engine-api.ts';
import type { EngineTimeouts } from '../../src/engine/engine-calls.ts';
import { EngineError, type EngineErrorCode } from '../../src/engine/http/engine-error.ts';
import { decodeLines } from '../../src/engine/http/lines.ts';
import { chunked, endOfChunks, frame, measured, type RawAnswer, startRawEngine } from './raw-engine.ts';
import { type Question, questions, version } from './raw-requests.ts';

// Correct responses that are truncated or stall, and invalid responses. Every request must settle with an EngineError,
// without a promise that rejects later.

const all = (ms: number): EngineTimeouts => ({
  query: ms,
  registry: ms,
  work: ms,
  start: ms,
  pullSilence: ms,
  logSilence: ms,
});
/** Longer than any test: a request that waits for it does not settle. */
const long = all(600_000);

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeAll(() => void process.on('unhandledRejection', note).on('uncaughtException', note));
afterAll(async () => {
  await sleep(300);
  process.off('unhandledRejection', note).off('uncaughtException', note);
  expect(unhandled).toEqual([]);
});

const whole = (bytes: Buffer): RawAnswer => ({ bytes, end: 'hang up' });

/** Value or error of a request; any error other than an EngineError fails the test. */
async function settle(
  question: Question,
  answer: (request: string) => RawAnswer,
  patience = long,
): Promise<{ fault: EngineError | null; value: unknown }> {
  const raw = await startRawEngine(answer);
  try {
    const work = question.ask(new EngineApi(raw.path, { timeouts: patience })).then(
      (value) => ({ value, fault: null }),
      (error) => {
        if (!(error instanceof EngineError)) throw error;
        return { value: undefined, fault: error };
      },
    );
    const ended = await Promise.race([work, sleep(60_000, null, { ref: false })]);
    if (ended === null) throw new Error('the question does not settle');
    await expect.poll(raw.openCount, { interval: 5 }).toBe(0);
    return ended;
  } finally {
    await raw.close();
  }
}

/** Responds to the request with `answer`, and to the version request before it with a correct response. */
const answering = (answer: RawAnswer) => (request: string) =>
  request.startsWith('GET /version ') ? whole(version) : answer;

/** About a hundred positions in a response, all starts of lines, and each of the last bytes. */
function placesIn(bytes: Buffer): number[] {
  const step = Math.ceil(bytes.length / 100);
  return [...bytes.keys()].filter(
    (at) => at % step === 0 || bytes[at - 1] === 0x0a || at >= bytes.length - 8,
  );
}

/** Results of a request if its response, or the response to the version request, stops at each position. */
const broken = (name: string, end: RawAnswer['end'], patience: EngineTimeouts, isOfVersion = false) => {
  const question = questions[name] as Question;
  return Promise.all(
    placesIn(isOfVersion ? version : question.answer).map(async (at) => {
      const answer = (request: string): RawAnswer =>
        request.startsWith('GET /version ') === isOfVersion
          ? { bytes: (isOfVersion ? version : question.answer).subarray(0, at), end }
          : whole(isOfVersion ? question.answer : version);
      return { at, ...(await settle(question, answer, patience)) };
    }),
  );
};

describe('a correct response', () => {
  /** One of each kind: JSON of known and unknown length, only a status, an error, a stream, frames. */
  it.each(['list', 'inspect', 'start', 'refusal', 'pull', 'logs'])(
    'causes an error if it is truncated or stalls anywhere: %s',
    async (name) => {
      for (const { at, fault } of await broken(name, 'hang up', long))
        expect(fault, `cut at ${at}`).toMatchObject({ code: 'unreachable', status: null });
      for (const { at, fault } of await broken(name, 'hang', all(300)))
        expect(fault, `stalls at ${at}`).toMatchObject({ code: 'late', status: null });
    },
  );

  it('is not awaited if the version request fails', async () => {
    for (const { fault } of await broken('inspect', 'hang up', long, true))
      expect(fault).toMatchObject({ code: 'unreachable', status: null });
    for (const { fault } of await broken('inspect', 'hang', all(300), true))
      expect(fault).toMatchObject({ code: 'late', status: null });
  });

  it('to a pull can be split into any chunks, and causes an error if lines are missing', async () => {
    const lines = ['Pulling from acme/svc', 'Pull complete', 'Status: Downloaded newer image'].map(
      (status) => `${JSON.stringify({ status, id: 'a' })}\n`,
    );
    const pull = questions.pull as Question;
    const ofBytes = chunked([...Buffer.from(lines.join(''))].map((byte) => Buffer.from([byte])));
    expect((await settle(pull, answering(whole(ofBytes)))).fault).toBeNull();
    for (const count of [0, 1, 2]) {
      const { fault } = await settle(pull, answering(whole(chunked(lines.slice(0, count)))));
      expect(fault, `after ${count} lines`).toMatchObject({ code: 'unreachable' });
    }
  });
});

describe('an unexpected response', () => {
  const ok = (body: string) => whole(measured(body));
  const raw = (text: string): RawAnswer => ({ bytes: Buffer.from(text), end: 'hang' });

  it.each<[string, string, RawAnswer, code?: EngineErrorCode]>([
    ['no JSON', 'inspect', ok('<html>')],
    ['a list', 'inspect', ok('[]')],
    ['no time', 'inspect', ok('{"Id":"1","Created":"yesterday"}')],
    ['an object for a list', 'list', ok('{}')],
    ['no digest', 'remoteDigest', ok('{"Descriptor":null}')],
    ['no id', 'create', ok('{"Id":""}')],
    ['a page for a pull', 'pull', ok('<html>\n<p>welcome')],
    [
      'another protocol',
      'logs',
      raw('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n'),
      'unreachable',
    ],
    ['no HTTP', 'inspect', raw('SSH-2.0-OpenSSH_9.2\r\n'), 'unreachable'],
    ['a frame that is none', 'logs', whole(chunked([frame('one\n'), 'abcd\0\0\0\0'])), 'unreachable'],
    ['a frame that ends early', 'logs', whole(chunked([frame('one\n').subarray(0, 10)])), 'unreachable'],
  ])('causes an error: %s for %s', async (_, name, answer, code = 'not-an-engine') => {
    const { fault } = await settle(questions[name] as Question, answering(answer));
    expect(fault).toMatchObject({ code, status: null });
  });

  // An engine that does not report its product is accepted.
  const asked = Object.keys(questions).filter((name) => name !== 'product');
  it.each(asked)(
    'causes the error refused-by-proxy if a proxy responds to %s, even with 404',
    async (name) => {
      for (const status of [403, 404, 409, 503]) {
        const page = whole(measured('<h1>no way</h1>', `${status} X`));
        const { fault } = await settle(questions[name] as Question, answering(page));
        expect(fault).toMatchObject({ code: 'refused-by-proxy', status });
      }
    },
  );

  it('causes the error refused if it is a redirect', async () => {
    const answer = raw('HTTP/1.1 301 Moved\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n');
    const { fault } = await settle(questions.inspect as Question, answering(answer));
    expect(fault).toMatchObject({ code: 'refused', status: 301 });
  });
});

describe('a response that is too long', () => {
  const megabytes = (count: number) => 'x'.repeat(count * 1024 * 1024);

  it('is not read completely', async () => {
    const { fault } = await settle(questions.inspect as Question, answering(whole(measured(megabytes(17)))));
    expect(fault).toMatchObject({
      code: 'too-big',
      message: `the engine's answer is longer than ${16 * 1024 * 1024} bytes (GET /v1.45/containers/x/json)`,
    });
  });

  it('causes an error during a pull', async () => {
    const line = `{"error":"${megabytes(2)}"}\n`;
    const { fault } = await settle(questions.pull as Question, answering(whole(chunked([line]))));
    expect(fault).toMatchObject({ code: 'not-an-engine' });
  });

  it('has its line in a log truncated, and the next line is read', async () => {
    const log = chunked([frame(megabytes(2)), frame('\nnext\n')]);
    const { value } = await settle(questions.logs as Question, answering(whole(log)));
    expect((value as string[]).map((line) => line.length)).toEqual([1024 * 1024, 4]);
  });

  it('is not buffered if one line is endless', async () => {
    const piece = Buffer.alloc(16 * 1024 * 1024, 'x');
    async function* endless() {
      // Longer than the maximum length of a string.
      for (let count = 0; count < 40; count++) yield piece;
    }
    const lines: number[] = [];
    for await (const line of decodeLines(endless())) lines.push(line.length);
    expect(lines).toEqual([1024 * 1024]);
  });

  it('is not read completely if a proxy rejects a pull', async () => {
    const page = Buffer.from(`HTTP/1.1 503 Busy\r\n\r\nbusy\n${megabytes(8)}`);
    const { fault } = await settle(questions.pull as Question, answering({ bytes: page, end: 'hang' }));
    const message = 'a proxy in front of the engine blocks POST /images/create (503 busy)';
    expect(fault).toMatchObject({ code: 'refused-by-proxy', status: 503, message });
  });
});

describe('a cancelled request', () => {
  it.each([
    ['before the question', true, 0],
    ['before the answer', false, 0],
    ['in the middle', false, -endOfChunks.length],
  ])('for a pull rejects immediately: %s', async (_, isBefore, at) => {
    const { answer } = questions.pull as Question;
    const raw = await startRawEngine(answering({ bytes: answer.subarray(0, at), end: 'hang' }));
    onTestFinished(() => raw.close());
    const controller = new AbortController();
    if (isBefore) controller.abort(new Error('enough'));
    else setTimeout(() => controller.abort(new Error('enough')), 100);
    const engine = new EngineApi(raw.path, { timeouts: long });
    const { signal } = controller;
    const pull = engine.pullImage({
      repository: 'x',
      tag: 'v1',
      credentials: null,
      onProgress: () => {},
      signal,
    });
    await expect(pull).rejects.toThrow('enough');
    await sleep(50);
    if (isBefore) expect(raw.requests).toEqual([]);
  });
});
