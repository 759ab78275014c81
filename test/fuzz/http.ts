import assert from 'node:assert/strict';
import fc from 'fast-check';
import { UpdateApiClient } from '../../src/wire/api-client/update-api-client.ts';
import {
  problemSchema,
  rollbackOfferSchema,
  runSchema,
  runWithServerTimeSchema,
  statusSchema,
} from '../../src/wire/status.ts';
import { MemoryService, record, rollbackOffer } from '../server/http/memory-service.ts';
import { door, check as expectDescribed, origin, path } from '../server/http/send-request.ts';
import { cuts, jsonWords, mutatedBytes, mutatedJson, mutatedText, pieces } from './mutate.ts';
import { expectPlain, type Target } from './target.ts';

// The endpoints (docs/contract.md 8.6), and the parser of their responses.

/** Endpoints that change something, with a valid body. */
const orders = fc.constantFrom<[where: string, method: string, body: object]>(
  ['', 'POST', { target: 'v1.5.0', when: 'idle' }],
  ['', 'POST', { force: true }],
  ['/rollback', 'POST', { confirm: 'v1.4.1', force: true }],
  ['/skip', 'PUT', { version: null }],
  ['/channel', 'PUT', { channel: 'canary' }],
  ['/progress', 'DELETE', {}],
  [
    '/automatic',
    'PUT',
    { on: true, days: ['mon'], from: '02:00', to: '05:00', zone: 'Europe/Berlin', age: 72 },
  ],
  ...['', '/progress', '/history', '/rollback'].map((where): [string, string, object] => [where, 'GET', {}]),
);
const bodyOf = (sample: unknown) =>
  fc.oneof(
    fc.constant(Buffer.from(JSON.stringify(sample))),
    mutatedJson(fc.constant(sample)).map((value) => Buffer.from(JSON.stringify(value) ?? '')),
    mutatedBytes(fc.constant(Buffer.from(JSON.stringify(sample))), jsonWords),
  );
const printable = (text: string) => text.replace(/[^\x20-\x7e]/g, '?').trim();
const header = (...samples: string[]) =>
  fc.oneof(
    fc.constantFrom(...samples),
    mutatedText(fc.constantFrom(...samples), [';', ',', 'q=', '/', '*', ':', '"']).map(printable),
  );
interface Asked {
  method: string;
  where: string;
  headers: Record<string, string>;
  body: Buffer;
  as: unknown;
  hasRun: boolean;
}

/** Any request gets a documented response, and only an admin from the same origin changes anything. */
export const requests: Target<Asked> = {
  name: 'requests',
  share: 80,
  cases: orders.chain(([where, method, sample]) =>
    fc.record({
      method: fc.constantFrom(
        ...[method, method, method, method, method],
        ...['HEAD', 'PATCH', 'PUT', 'CONSTRUCTOR'],
      ),
      where: fc
        .oneof(
          fc.constant(where),
          mutatedText(fc.constantFrom(where, `${where}?refresh=1&notes=1`, `${where}?lastEventId=run1%3A3`), [
            '&',
            '%',
            '/..',
            '#',
          ]),
        )
        .map((text) => text.toWellFormed().replace(/^(?=[^/?#])/, '/')),
      headers: fc.record(
        {
          accept: header('text/event-stream', 'application/json, text/event-stream;q=0.5', '*/*'),
          'content-type': header('application/json', 'application/json; charset=utf-8', 'text/plain'),
          origin: header(origin, 'https://evil.example', 'null'),
          host: header('svc.example.org', 'svc.example.org:443', 'evil.example'),
          'sec-fetch-site': fc.constantFrom('same-origin', 'cross-site', 'none'),
          'last-event-id': header('run1:3', 'run1:end'),
          cookie: fc.constant('session=1'),
        },
        { requiredKeys: [] },
      ),
      body: bodyOf(sample),
      as: fc.oneof(
        fc.constantFrom<unknown>('admin', { role: 'admin', name: 'Anna' }, 'user', {
          role: 'user',
          name: 'x',
        }),
        mutatedJson(fc.constantFrom<unknown>('user', { role: 'user', name: 'x' })),
      ),
      hasRun: fc.boolean(),
    }),
  ),
  async check({ method, where, headers, body: bytes, as, hasRun }) {
    const service = new MemoryService();
    if (hasRun) service.run = record();
    const { handle, logged } = door(service, { authorize: () => as as 'admin' });
    const isReading = method === 'GET' || method === 'HEAD';
    const given = isReading || bytes.length === 0 ? {} : { body: new Uint8Array(bytes) };
    const request = new Request(`${origin}${path}${where}`, { method, headers, ...given });
    const response = await handle(request);
    await expectDescribed(method, new URL(request.url).pathname, response);
    await response.body?.cancel().catch(() => {});
    assert.deepEqual(logged, []);
    const changes = service.calls.filter((call) =>
      /^(?:start|cancel|back |channel|skip|automatic)/.test(call),
    );
    const site = headers['sec-fetch-site'];
    const mayChange =
      !isReading && (site === undefined || site === 'same-origin') && (Object(as).role ?? as) === 'admin';
    assert.ok(changes.length <= (mayChange ? 1 : 0), changes.join());
    if (response.status >= 400)
      assert.deepEqual(
        changes.filter((call) => !/^skip/.test(call) && response.status !== 409),
        [],
      );
  },
};

const told = { ...record().run, now: '2026-11-21T10:42:09.000Z' };
const sample: Record<string, unknown> = { ...(await new MemoryService().status()), ...told, updating: true };
const answers: readonly unknown[] = [
  { version: 'v1.4.2', updating: true },
  ...[await new MemoryService().status(), told, [told], rollbackOffer],
  { title: 'Conflict', status: 409, detail: 'no', reason: { code: 'jobs', message: 'x', jobs: [] } },
];
const sent = fc.record({
  body: fc.constantFrom(...answers).chain(bodyOf),
  type: header(
    'application/json',
    'application/json; charset=utf-8',
    'application/problem+json',
    'text/html',
  ),
  status: fc.constantFrom(200, 200, 202, 204, 301, 400, 401, 404, 409, 500, 503, 599),
  cuts,
});

const isSame = (shape: { fields: object; read(value: unknown): unknown }, value: unknown) => {
  expectPlain(value);
  const sure = Object.keys(shape.fields).filter(
    (key) => typeof sample[key] === 'boolean' || Array.isArray(sample[key]),
  );
  for (const key of sure) assert.equal(typeof Object(value)[key], typeof sample[key], key);
  // An accepted value is valid: parsing it again returns the same value.
  assert.deepEqual(shape.read(JSON.parse(JSON.stringify(value))), value);
};

/** Any response of a server or proxy is classified, and an accepted response matches the whole schema. */
export const serverAnswers: Target<{ body: Buffer; type: string; status: number; cuts: number[] }> = {
  name: 'server-answers',
  share: 80,
  cases: sent,
  async check({ body: bytes, type, status, cuts: places }) {
    const fetch = async () =>
      new Response(status === 204 ? null : ReadableStream.from(pieces(bytes, places)), {
        status,
        headers: { 'content-type': type },
      });
    const reader = new UpdateApiClient({ address: 'https://svc.test/x', fetch, deadlines: { read: 60_000 } });
    const [state, run, runs, offer] = [
      await reader.fetchStatus(),
      await reader.fetchRun(),
      await reader.fetchPastRuns(),
      await reader.fetchRollbackOffer(),
    ];
    for (const answer of [state, run, runs, offer]) {
      assert.ok(['ok', 'problem', 'logged-out', 'none'].includes(answer.kind));
      assert.ok(answer.kind !== 'ok' || (status >= 200 && status < 300));
      if (answer.kind === 'problem') isSame(problemSchema, answer.problem);
    }
    if (state.kind === 'ok' && 'channel' in state.value) isSame(statusSchema, state.value);
    if (run.kind === 'ok') isSame(runWithServerTimeSchema, run.value);
    if (runs.kind === 'ok') for (const one of runs.value) isSame(runSchema, one);
    if (offer.kind === 'ok') isSame(rollbackOfferSchema, offer.value);
  },
};
