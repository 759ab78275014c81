import assert from 'node:assert/strict';
import fc from 'fast-check';
import { EngineApi } from '../../src/engine/engine-api.ts';
import { EngineError } from '../../src/engine/http/engine-error.ts';
import { parseJsonOrNull } from '../../src/engine/objects/json.ts';
import { measured, startRawEngine } from '../engine/raw-engine.ts';
import { type Question, questions, version } from '../engine/raw-requests.ts';
import { mutatedBytes, mutatedJson } from './mutate.ts';
import { expectPlain, type Target } from './target.ts';

const words = [
  ...[
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
  ],
  ...[
    '\r\n',
    '0\r\n\r\n',
    'ffffffff\r\n',
    'Content-Length: 3\r\n',
    'Transfer-Encoding: chunked\r\n',
    '204',
    '500',
    '\xff',
  ],
  ...[
    '"__proto__":{"x":1},',
    'null',
    '[',
    '{',
    '}',
    '\x01\0\0\0',
    '{"error":"x"}\n',
    '"Config":{"Env":5},',
    '9'.repeat(400),
  ],
];
const names = fc.constantFrom(...Object.keys(questions));
const patience = {
  query: 20_000,
  registry: 20_000,
  work: 20_000,
  start: 20_000,
  pullSilence: 20_000,
  logSilence: 20_000,
};

let answer: (request: string) => Buffer = () => version;
let engine: ReturnType<typeof startRawEngine> | null = null;

/** Any response of an engine, or of a proxy, is parsed or rejected as an error. */
export const engineAnswers: Target<{ name: string; bytes: Buffer; isOfVersion: boolean }> = {
  name: 'engine-answers',
  share: 40,
  cases: fc.tuple(names, fc.nat(4)).chain(([name, which]) => {
    const isOfVersion = which === 0;
    const sample = isOfVersion ? version : (questions[name] as Question).answer;
    const [, body = ''] = sample.toString().split('\r\n\r\n');
    const json = parseJsonOrNull(body.replace(/(^|\r\n)[0-9a-f]+\r\n|\r\n$/g, ''));
    const bytes = mutatedBytes(fc.constant(sample), words);
    const answers = mutatedJson(fc.constantFrom<unknown>(json, json, json, json, null, [])).map((value) =>
      measured(JSON.stringify(value) ?? ''),
    );
    return fc.record({
      name: fc.constant(name),
      bytes: json ? fc.oneof(bytes, answers) : bytes,
      isOfVersion: fc.constant(isOfVersion),
    });
  }),
  async check({ name, bytes, isOfVersion }) {
    const question = questions[name] as Question;
    engine ??= startRawEngine((request) => ({ bytes: answer(request), end: 'hang up' }));
    const { path, requests } = await engine;
    requests.length = 0;
    const whole = isOfVersion ? question.answer : version;
    answer = (request) => (request.startsWith('GET /version ') === isOfVersion ? bytes : whole);
    try {
      expectPlain(await question.ask(new EngineApi(path, { timeouts: patience })));
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      // The engine has closed the connection: no timeout may occur.
      assert.ok(error.code !== 'late' && error.message.length < 2000, error.message);
    }
    assert.ok(requests.length <= 4, requests.join());
  },
  end: async () => (await engine)?.close(),
};
