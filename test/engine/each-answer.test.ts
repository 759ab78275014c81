import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineFault } from '../../src/engine/http/fault.ts';
import { EngineSocket, type Patience } from '../../src/engine/socket.ts';
import { EngineDouble } from '../rig/engine-double/engine-double.ts';
import type { FaultKind } from '../rig/engine-double/faults.ts';
import { goodRun } from '../rig/engine-double/script.ts';
import { type Question, questions, updater } from './questions.ts';

// Each question of the library's, and an answer of each form broken at places all over it: it settles in time, with a fault or
// with the whole right answer, never with a part of one, and leaves nothing behind.

/** One for each form of an answer: JSON of known and of unknown length, a status alone, a refusal, a stream, frames. */
const forms = ['inspect', 'inspect of none', 'list', 'start', 'remove of what runs', 'pull', 'logs'];
const version = /^GET \/version/;

const all = (ms: number): Patience => ({
  query: ms,
  registry: ms,
  work: ms,
  pullSilence: ms,
  logSilence: ms,
});
/** Longer than any test: what waits for it does not settle. */
const long = all(600_000);

interface Ended {
  value?: unknown;
  fault?: EngineFault;
  /** What it had told before it ended. */
  told: unknown[];
  /** The whole answer, had it come. */
  bytes: Buffer;
}

/** The fault has met no request: on a busy machine the time may be over before one is sent. */
class Unmet extends Error {}

/** One question to an engine of its own. Anything but an EngineFault fails the test, and so does what stays open. */
async function settle(
  { match, prepare, ask }: Question,
  { fault, patience = long, hit = match }: { fault?: FaultKind; patience?: Patience; hit?: RegExp } = {},
): Promise<Ended> {
  const engine = await EngineDouble.start();
  try {
    prepare?.(engine);
    const planned = fault && engine.fault({ ...fault, match: hit });
    const told: unknown[] = [];
    const ended = await Promise.race([
      ask(new EngineSocket(engine.path, { patience }), told).then(
        (value) => ({ value }),
        (error) => ({ error }),
      ),
      sleep(60_000, null, { ref: false }),
    ]);
    if (ended === null) throw new Error('it does not settle');
    if ('error' in ended && !(ended.error instanceof EngineFault)) throw ended.error;
    if (planned?.hits !== undefined && planned.hits !== 1) throw new Unmet(`met ${planned.hits} requests`);
    await expect.poll(() => engine.connectionCount, { interval: 5 }).toBe(0);
    const bytes = engine.recorded(hit);
    return 'error' in ended ? { fault: ended.error, told, bytes } : { ...ended, told, bytes };
  } finally {
    await engine.close();
  }
}

/** It hangs there, and is given up: soon, but only once it hangs. */
async function stall(question: Question, at: number, hit?: RegExp): Promise<Ended> {
  const fault: FaultKind = { kind: 'hang', at };
  for (let ms = 80; ; ms *= 4) {
    try {
      return await settle(question, { fault, patience: all(ms), ...(hit && { hit }) });
    } catch (error) {
      if (!(error instanceof Unmet) || ms > 10_000) throw error;
    }
  }
}

/** What it comes to where nothing goes wrong: a value, or the engine's own refusal. Each engine has its own ids and times. */
const wholeOf = ({ value, fault }: Ended): string =>
  (fault ? `${fault.status} ${fault.message}` : inspect(value, { depth: null }))
    .replaceAll(/\b[0-9a-f]{12}(?:[0-9a-f]{52})?\b/g, '<id>')
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]{18}Z/g, '<now>');

/** What is not whole is a fault, also where nothing is to be read from it; and what was told before is a true beginning. */
function expectFault({ fault, told }: Ended, good: Ended, kind: EngineFault['kind']): void {
  expect(fault).toMatchObject({ kind, status: null });
  expect(told).toEqual(good.told.slice(0, told.length));
}

/**
 * What is told by the status alone, and a log: nobody knows how long it is, and whoever follows it looks at the
 * container, too.
 */
const hasNoLength = ({ bytes }: Ended): boolean =>
  /^HTTP\/1\.1 (?:204|304|404|409)|multiplexed-stream/.test(bytes.toString('latin1'));

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeAll(() => void process.on('unhandledRejection', note).on('uncaughtException', note));
afterAll(async () => {
  await sleep(200);
  process.off('unhandledRejection', note).off('uncaughtException', note);
  expect(unhandled).toEqual([]);
});

/** Places all over an answer: a hundred, where lines begin, and before each of its last bytes. Beyond them it is whole. */
function placesIn(bytes: Buffer): number[] {
  const step = Math.ceil(bytes.length / 100);
  return [...bytes.keys()].filter(
    (at) => at % step === 0 || bytes[at - 1] === 0x0a || at >= bytes.length - 8,
  );
}

const atEach = (bytes: Buffer, check: (at: number) => Promise<void>) =>
  Promise.all(
    placesIn(bytes).map(async (at) => {
      try {
        await check(at);
      } catch (cause) {
        throw new Error(`byte ${at}: ${(cause as Error).message}`, { cause });
      }
    }),
  );

describe.each(Object.entries(questions))('the answer to %s', (_, question) => {
  it('is read', async () => {
    const { value, fault } = await settle(question);
    if (fault) expect(`${fault.status} ${fault.message}`).toContain(question.gives);
    else expect(value).toEqual(question.gives);
  });

  it("that is a refusal by others is not taken for the engine's", async () => {
    const refused = await settle(question, { fault: { kind: 'refuse', message: 'no space left on device' } });
    expect(wholeOf(refused)).toBe('500 no space left on device');
    // A proxy that has lost its way to the engine says 404, too.
    for (const status of [403, 404, 409, 503]) {
      const page = await settle(question, { fault: { kind: 'page', status } });
      expect(page.fault).toMatchObject({ kind: 'refused', status });
    }
  });
});

describe.each(forms)('the answer to %s', (name) => {
  const question = questions[name] as Question;

  it('that is cut anywhere is a fault', async () => {
    const good = await settle(question);
    await atEach(good.bytes, async (at) => {
      const ended = await settle(question, { fault: { kind: 'cut', at } });
      expectFault(ended, good, 'away');
    });
  });

  it('that stalls anywhere is a fault in time', async () => {
    const good = await settle(question);
    await atEach(good.bytes, async (at) => {
      const ended = await stall(question, at);
      expectFault(ended, good, 'late');
    });
  });

  it('is the same byte by byte', async () => {
    const good = await settle(question);
    const ended = await settle(question, { fault: { kind: 'trickle' } });
    expect(wholeOf(ended)).toEqual(wholeOf(good));
    expect(ended.told).toEqual(good.told);
  });

  it('that is the half of one is no answer, or says enough', async () => {
    const good = await settle(question);
    const ended = await settle(question, { fault: { kind: 'half' } });
    if (good.fault) expect(ended.fault?.status).toBe(good.fault.status);
    else if (hasNoLength(good)) expect(good.told.slice(0, ended.told.length)).toEqual(ended.told);
    else expectFault(ended, good, 'away');
  });
});

describe('before any answer', () => {
  it.each<FaultKind['kind']>(['cut', 'hang'])('the version may be broken by a %s', async (kind) => {
    const question = questions.inspect as Question;
    const { bytes } = await settle(question, { hit: version });
    await atEach(bytes, async (at) => {
      const cut: FaultKind = { kind: 'cut', at };
      const { fault } =
        kind === 'cut'
          ? await settle(question, { fault: cut, hit: version })
          : await stall(question, at, version);
      expect(fault).toMatchObject({ kind: kind === 'cut' ? 'away' : 'late', status: null });
    });
  });

  it('an answer that comes, but too slowly, is late', async () => {
    const fault: FaultKind = { kind: 'trickle', everyMs: 10 };
    const ended = await settle(questions.inspect as Question, { fault, patience: all(150) });
    expect(ended.fault?.kind).toBe('late');
  });

  it('the daemon is started again between two questions, and nobody notices', async () => {
    const engine = await EngineDouble.start();
    const client = new EngineSocket(engine.path);
    engine.updaterDoes(goodRun('v1.4.2', 'v1.5.0'));
    const { id } = updater(engine);
    for (const file of ['stays', 'goes'] as const) {
      expect(await client.inspect(id)).toMatchObject({ id });
      await engine.down({ file });
      await engine.up();
      expect(await client.inspect(id)).toMatchObject({ id });
    }
    await engine.close();
  });
});

it('a pull that ends before its end has failed', async () => {
  const { bytes } = await settle(questions.pull as Question);
  const lines = bytes.toString().match(/"status"/g)?.length ?? 0;
  expect(lines).toBeGreaterThan(10);
  for (let chunks = 0; chunks < lines; chunks++) {
    const { fault } = await settle(questions.pull as Question, { fault: { kind: 'half', chunks } });
    expect(fault, `after ${chunks} lines`).toMatchObject({ kind: 'away' });
  }
  const { fault } = await settle(questions.pull as Question, { fault: { kind: 'half', chunks: lines } });
  expect(fault).toBeUndefined();
});
