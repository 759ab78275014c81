import assert from 'node:assert/strict';
import fc from 'fast-check';
import { logLevels, type ProgressEvent, phases } from '../../src/core/progress/event.ts';
import { formatEventLine, parseEventLine, parseJsonEventLine } from '../../src/core/progress/log-line.ts';
import { outcomes } from '../../src/core/progress/outcome.ts';
import { decodeLines, decodeLog } from '../../src/engine/http/lines.ts';
import { createRun, RunRecord } from '../../src/server/run/run-record.ts';
import { parseRun } from '../../src/wire/api-client/parse-responses.ts';
import { frame } from '../engine/raw-engine.ts';
import { cuts, mutatedJson, mutatedText, pieces } from './mutate.ts';
import { expectPlain, type Target } from './target.ts';

// The log of an updater (docs/contract.md 6.1), and the run that the server reads from it.

const odd = [...'\\\n\r\tnu014% ', '\ud83d', '\ude00', ...'\0\u2028\u202e'];
const messages = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(...odd) }),
  fc.array(fc.nat({ max: 0xffff })).map((codes) => String.fromCharCode(...codes)),
  fc.tuple(fc.nat({ max: 120 }), fc.string()).map(([percent, rest]) => `${percent}% ${rest}`),
  fc
    .tuple(
      fc.constantFrom(...outcomes),
      fc.constantFrom('', ' (upgrade-step)', ' (pull-unknown)'),
      fc.string(),
    )
    .map(
      ([outcome, code, rest]) => `${outcome}${code}: ${rest}; v1.2.0 must be installed first. Next: ${rest}`,
    ),
);
const events: fc.Arbitrary<ProgressEvent> = fc
  .record({
    time: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    level: fc.constantFrom(...logLevels),
    phase: fc.constantFrom(...phases, ...(['done', 'done'] as const)),
    percent: fc.option(fc.nat({ max: 100 }), { nil: undefined }),
    message: messages,
  })
  .map(({ percent, ...rest }) => (percent === undefined ? rest : { ...rest, percent }));

const jsonLine = mutatedJson(
  events.map(({ level, message, ...rest }) => ({
    level: level === 'error' ? 50 : 30,
    ...rest,
    msg: message,
    restorePoint: { at: '2026-11-21T10:42:15.000Z', version: 'v1.4.2', bytes: 12 },
    rolledBack: { to: 'v1.4.2' },
  })),
).map((value) => JSON.stringify(value));
const words = [
  'INFO ',
  'ERROR',
  'pull',
  'done',
  '100%',
  '\\u',
  '\\',
  '2026-11-21T10:42:07.123Z',
  '+275760-09-13',
  '"__proto__":{"x":1},',
];
const logLine = mutatedText(fc.oneof(events.map(formatEventLine), jsonLine), words);

/** Arbitrary log lines, through the engine's frames into the record of a run. */
export const logs: Target<{ lines: string[]; isFramed: boolean; cuts: number[] }> = {
  name: 'logs',
  share: 100,
  cases: fc.record({ lines: fc.array(logLine, { maxLength: 8 }), isFramed: fc.boolean(), cuts }),
  async check({ lines, isFramed, cuts }) {
    const bytes = lines.map((line) => Buffer.from(`${line}\n`));
    const sent = Buffer.concat(isFramed ? bytes.map((one) => frame(one)) : [Buffer.from('> '), ...bytes]);
    const record = new RunRecord(
      createRun({ id: 'a', from: null, to: 'v1.5.0', startedAt: '2026-11-21T10:42:07.000Z' }),
    );
    const read: string[] = [];
    for await (const line of decodeLines(decodeLog(chunksOf(pieces(sent, cuts))))) {
      read.push(line);
      const json = parseJsonEventLine(line);
      const event = json?.event ?? parseEventLine(line);
      if (event) expectEvent(event);
      const { hasEnded, run } = record;
      if (event) record.add(event, json?.fields);
      if (hasEnded) assert.equal(record.run.outcome, run.outcome);
    }
    const written = Buffer.concat(bytes).toString().split('\n').slice(0, -1);
    assert.deepEqual(read, (isFramed ? written : [`> ${written[0] ?? ''}`, ...written.slice(1)]).map(bare));
    expectPlain(record.run);
    // The client parses the reported run unchanged.
    assert.deepEqual(parseRun(JSON.parse(JSON.stringify(record.run))), record.run);
    assert.equal(record.run.steps.filter(({ endedAt }) => endedAt === null).length, record.hasEnded ? 0 : 1);
  },
};

const bare = (line: string) => line.replace(/\r$/, '');

function expectEvent(event: ProgressEvent): void {
  expectPlain(event);
  assert.equal(new Date(event.time).toISOString(), event.time);
  assert.ok(event.percent === undefined || (event.percent >= 0 && event.percent <= 100));
  const line = formatEventLine(event);
  assert.deepEqual(parseEventLine(line), event);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be left
  assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
}

async function* chunksOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}
