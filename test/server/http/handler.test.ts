import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Caller } from '../../../src/server/contract/instance-options.ts';
import type { ValidatedInstanceOptions } from '../../../src/server/contract/validate-options.ts';
import { UnavailableError } from '../../../src/server/run/update-api.ts';
import { blockingReasonCodes } from '../../../src/wire/codes.ts';
import { follow } from './follow-events.ts';
import { MemoryService, notRunning, record, rehearsal, rollbackOffer, secret } from './memory-service.ts';
import { described, door, origin, path, type Question, request, seen } from './send-request.ts';

function rig(settings: Partial<ValidatedInstanceOptions> = {}) {
  const service = new MemoryService();
  return { service, ...door(service, settings) };
}

const choice = { channel: 'canary' };
const eventStream = { accept: 'text/event-stream' };

/** Each request, and the status that a user and an admin get. */
const endpoints: [method: string, where: string, question: Question, user: number, admin: number][] = [
  ['GET', '', {}, 200, 200],
  ['GET', '?refresh=1', {}, 200, 200],
  ['POST', '', {}, 403, 202],
  ['GET', '/progress', {}, 403, 200],
  ['GET', '/progress', { headers: eventStream }, 403, 200],
  ['DELETE', '/progress', {}, 403, 202],
  ['GET', '/history', {}, 403, 200],
  ['POST', '/rehearsal', { body: { target: 'v1.5.0', settings: { SMTP_HOST: 'x' } } }, 403, 202],
  ['DELETE', '/rehearsal', {}, 403, 202],
  ['GET', '/rollback', {}, 403, 200],
  ['HEAD', '/rollback', {}, 403, 200],
  ['GET', '/report', {}, 403, 200],
  ['HEAD', '/report', {}, 403, 200],
  ['POST', '/rollback', { body: { confirm: 'v1.4.1' } }, 403, 202],
  ['PUT', '/channel', { body: choice }, 403, 200],
  ['PUT', '/skip', { body: { version: 'v1.5.0' } }, 403, 200],
  ['PUT', '/automatic', { body: { enabled: true } }, 403, 200],
  ['HEAD', '', {}, 200, 200],
  ['HEAD', '/progress', {}, 403, 200],
  ['HEAD', '/history', {}, 403, 200],
];

describe('the endpoints', () => {
  it.each([
    ['?refresh=1', 'refresh'],
    ['?refresh', 'status'],
    ['?notes=1', 'status with notes'],
  ])('interpret the query %s as %s', async (query, call) => {
    const { ask, service } = rig();
    expect((await ask('GET', query)).status).toBe(200);
    expect(service.calls).toEqual([call]);
  });

  it('start an update', async () => {
    const { ask, service } = rig();
    const { status, headers, json } = await ask('POST', '', { body: { target: 'v1.5.0' } });
    expect([status, json.state, headers.get('location')]).toEqual([202, 'launching', `${path}/progress`]);
    expect(Math.abs(Date.parse(json.now) - Date.now())).toBeLessThan(60_000);
    expect(service.calls).toEqual(['start v1.5.0 for admin']);
  });

  it.each<[object, string]>([
    [{ when: 'now' }, 'start null for admin'],
    [{ when: 'idle' }, 'start null when idle for admin'],
    [{ force: true }, 'start null by force for admin'],
  ])('start an update with %j: %s', async (body, call) => {
    const { ask, service } = rig();
    expect((await ask('POST', '', { body })).status).toBe(202);
    expect(service.calls).toEqual([call]);
  });

  it('cancel a run', async () => {
    const { ask, service } = rig();
    expect((await ask('DELETE', '/progress')).json.reason).toEqual(notRunning);
    service.run = record();
    const { status, json } = await ask('DELETE', '/progress', { as: { role: 'admin', name: 'anna' } });
    expect([status, json.state, json.cancelRequestedBy]).toEqual([202, 'launching', 'anna']);
    expect(json.now).toEqual(expect.any(String));
    expect(service.calls).toEqual(['cancel for admin', 'cancel for anna']);
  });

  it('start and cancel a rehearsal', async () => {
    const { ask, service } = rig();
    const body = { target: 'v1.5.0-canary.3', settings: { SMTP_HOST: 'mail.test' } };
    const { status, json } = await ask('POST', '/rehearsal', { body });
    expect([status, json]).toEqual([202, rehearsal]);
    expect((await ask('POST', '/rehearsal')).status).toBe(202);
    expect((await ask('POST', '/rehearsal', { body: { when: 'idle' } })).status).toBe(400);
    expect((await ask('DELETE', '/rehearsal')).json).toEqual(rehearsal);
    service.cancelReason = notRunning;
    const refused = await ask('DELETE', '/rehearsal');
    expect([refused.status, refused.json.reason]).toEqual([409, notRunning]);
    expect(service.calls).toEqual([
      'rehearse canary with SMTP_HOST for admin',
      'rehearse null for admin',
      'cancel the rehearsal',
      'cancel the rehearsal',
    ]);
  });

  it.each(blockingReasonCodes)('reject an update and a rollback with the reason %s', async (code) => {
    const { ask, service } = rig();
    service.reason = { code, message: 'Not now.', refusal: 'modified-since', advice: 'Look.' };
    expect((await ask('HEAD', '/rollback')).status).toBe(409);
    const body = { confirm: 'v1.4.1' };
    for (const asked of [
      ...[ask('POST'), ask('POST', '/rehearsal')],
      ...[ask('GET', '/rollback'), ask('POST', '/rollback', { body })],
    ]) {
      const { status, json } = await asked;
      expect([status, json.detail, json.reason]).toEqual([409, 'Not now.', service.reason]);
    }
  });

  it('offer a rollback and start it after confirmation', async () => {
    const { ask, service } = rig();
    const { status, json } = await ask('GET', '/rollback');
    expect([status, json]).toEqual([200, rollbackOffer]);
    const started = await ask('POST', '/rollback', { body: { confirm: 'v1.4.1', when: 'idle' } });
    expect([started.status, started.headers.get('location')]).toEqual([202, `${path}/progress`]);
    expect(service.calls).toEqual(['rollback?', 'rollback v1.4.1 when idle for admin']);
  });

  it.each([undefined, {}, { confirm: 1 }, { confirm: 'v1.4.1', when: 'idle', force: true }])(
    'reject a rollback with the body %j',
    async (body) => {
      const { ask, service } = rig();
      expect((await ask('POST', '/rollback', { body })).status).toBe(400);
      expect(service.calls).toEqual([]);
    },
  );

  it('report the progress', async () => {
    const { ask, service } = rig();
    expect((await ask('GET', '/progress')).status).toBe(404);
    expect((await ask('GET', '/progress', { headers: eventStream })).status).toBe(404);
    service.run = record();
    expect((await ask('GET', '/progress')).json).toEqual({ ...service.run.run, now: expect.any(String) });
    const { response, headers } = await ask('GET', '/progress', { headers: eventStream });
    expect(headers.get('x-accel-buffering')).toBe('no');
    const following = follow(response.body);
    expect(await following.some(2)).toEqual(['retry 1000', 'run run1:0 launching']);
    await following.cancel();
    service.run.end({ outcome: 'updated', message: 'updated' });
    const headersOfEnd = { ...eventStream, 'last-event-id': 'run1:end' };
    expect((await ask('GET', '/progress', { headers: headersOfEnd })).status).toBe(204);
    expect((await ask('GET', '/progress', { headers: { 'last-event-id': 'run1:end' } })).status).toBe(200);
  });

  it('continue a stream by query parameter', async () => {
    const { ask, service } = rig();
    service.run = record();
    for (const message of ['a', 'b']) {
      service.run.add({ time: '2026-11-21T10:42:08.000Z', level: 'info', phase: 'pull', message });
    }
    const { response } = await ask('GET', '/progress?lastEventId=run1:1', { headers: eventStream });
    const following = follow(response.body);
    expect(await following.some(3)).toEqual(['retry 1000', 'run run1:1 pull', 'line run1:2 b']);
    await following.cancel();
    service.run.end({ outcome: 'updated', message: 'updated' });
    const where = '/progress?lastEventId=run1:end';
    expect((await ask('GET', where, { headers: eventStream })).status).toBe(204);
    // The header is sent by the last connection; the address is still that of the first.
    const headers = { ...eventStream, 'last-event-id': 'run1:1' };
    expect((await ask('GET', where, { headers })).status).toBe(200);
  });

  it.each(['', '?notes=1', '/progress', '/history'])(
    'respond to HEAD as to GET, without a body: %s',
    async (where) => {
      const { ask, service } = rig();
      service.run = record();
      const got = await ask('GET', where);
      const head = await ask('HEAD', where);
      expect([head.status, head.text, ...head.headers]).toEqual([200, '', ...got.headers]);
      expect(service.calls[0]).toBe(service.calls[1]);
    },
  );
});

describe('paths and methods', () => {
  it.each(['/', '/progress/', '/Progress', '/%70rogress', '/%2e%2e/x', '/%', '/%00', '/../x', '//'])(
    'return 404 for the unknown path %s',
    async (where) => {
      const { ask, service } = rig();
      for (const method of ['GET', 'POST', 'PUT']) {
        expect((await ask(method, where)).status).toBe(404);
        expect((await ask(method, where, { as: null })).status).toBe(401);
      }
      expect(service.calls).toEqual([]);
    },
  );

  it.each([
    ['', 'GET, HEAD, POST', ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'constructor', '__proto__', 'PURGE']],
    ['/progress', 'GET, HEAD, DELETE', ['POST', 'PUT', 'OPTIONS']],
    ['/history', 'GET, HEAD', ['POST', 'PUT', 'DELETE', 'OPTIONS']],
    ['/rollback', 'GET, HEAD, POST', ['DELETE', 'PUT', 'PATCH', 'OPTIONS']],
    ['/rehearsal', 'POST, DELETE', ['GET', 'HEAD', 'PUT', 'PATCH', 'OPTIONS']],
    ['/channel', 'PUT', ['GET', 'HEAD', 'POST', 'DELETE', 'PATCH', 'OPTIONS']],
  ])('allow on %s only %s', async (where, allow, others) => {
    const { ask, service } = rig();
    for (const method of others) {
      const { status, headers } = await ask(method, where);
      expect([method, status, headers.get('allow')]).toEqual([method, 405, allow]);
      expect((await ask(method, where, { as: null })).status).toBe(401);
    }
    expect(service.calls).toEqual([]);
  });
});

describe('authorization', () => {
  it.each(endpoints)(
    '%s %s %j: 401 without a login, %i for a user, %i for an admin',
    async (method, where, question, user, admin) => {
      const { ask, service } = rig();
      service.run = record();
      const nobody = await ask(method, where, { ...question, as: null });
      expect([nobody.status, nobody.json?.title ?? 'Unauthorized']).toEqual([401, 'Unauthorized']);
      const asUser = await ask(method, where, { ...question, as: 'user' });
      expect(asUser.status).toBe(user);
      if (asUser.json && user === 200) expect(asUser.json).toEqual({ version: 'v1.4.2', updating: true });
      expect(service.calls).toEqual(user === 200 ? ['updating?'] : []);
      service.calls.length = 0;
      const asAdmin = await ask(method, where, { ...question, as: 'admin' });
      expect(asAdmin.status).toBe(admin);
      expect(service.calls).toHaveLength(1);
      if (asAdmin.text === '') await asAdmin.response.body?.cancel();
    },
  );

  it.each([
    undefined,
    null,
    'Admin',
    {},
    ['admin'],
    { name: 'anna' },
    { role: 'admin', name: 5 },
    { role: ['admin'] },
  ])('treats the caller %j as not logged in', async (caller) => {
    const { ask, service } = rig({ authorize: () => caller as 'admin' });
    expect((await ask('GET')).status).toBe(401);
    expect((await ask('POST')).status).toBe(401);
    expect(service.calls).toEqual([]);
  });

  it.each<[Caller, string]>([
    ['admin', 'admin'],
    [{ role: 'admin', name: 'Anna Ä. 🎉' }, 'Anna Ä. 🎉'],
    [{ role: 'admin', name: '' }, 'admin'],
    // Automatic updates have that name.
    [{ role: 'admin', name: ' automatic' }, 'admin'],
    [{ role: 'admin', name: 'a\u0000b\nc\u001b[31m\u0085\u2028' }, 'a\\u0000b\\u000ac\\u001b[31m\\u0085'],
    [{ role: 'admin', name: 'x\u202egnp.exe\u2066\u200f\u061c.' }, 'x\\u202egnp.exe\\u2066\\u200f\\u061c.'],
    [{ role: 'admin', name: '🎉'.repeat(300) }, '🎉'.repeat(200)],
  ])('records the caller %j as %j', async (caller, by) => {
    const { ask, service } = rig({ authorize: () => caller });
    await ask('POST');
    await ask('DELETE', '/progress');
    expect(service.calls).toEqual([`start null for ${by}`, `cancel for ${by}`]);
  });

  it('does not read the body of unauthorized requests', async () => {
    const { handle } = rig();
    for (const as of [null, 'user'] as const) {
      const sent = request('POST', '', { as, body: { target: 'v1.5.0' } });
      expect([401, 403]).toContain((await handle(sent)).status);
      expect(sent.bodyUsed).toBe(false);
    }
  });
});

describe('same origin', () => {
  const cookie = { cookie: 'session=1' };
  it.each<[Record<string, string>, boolean]>([
    [{}, true],
    [{ authorization: 'Bearer x' }, true],
    // The browser's own header counts, with or without credentials.
    [{ 'sec-fetch-site': 'same-origin' }, true],
    [{ 'sec-fetch-site': 'cross-site' }, false],
    [{ 'sec-fetch-site': 'none' }, false],
    [{ origin }, true],
    [{ origin: 'https://evil.example' }, false],
    [{ origin: 'null' }, false],
    // Credentials that a browser adds automatically.
    [{ authorization: 'Basic YTpi' }, false],
    [{ authorization: ' Negotiate x' }, false],
    [{ authorization: 'Basic YTpi', origin }, true],
    [{ authorization: 'Bearer x', cookie: 'session=1' }, false],
    [{ ...cookie, 'sec-fetch-site': 'same-origin' }, true],
    [{ ...cookie, 'sec-fetch-site': 'same-site', origin }, false],
    [{ ...cookie, 'sec-fetch-site': 'none' }, false],
    [{ ...cookie, 'sec-fetch-site': 'cross-site', authorization: 'Bearer x' }, false],
    [cookie, false],
    [{ cookie: '' }, false],
    [{ ...cookie, origin }, true],
    [{ ...cookie, origin: 'null' }, false],
    [{ ...cookie, origin: 'svc.example.org' }, false],
    [{ ...cookie, origin: `${origin}:8443` }, false],
    [{ ...cookie, origin: 'https://svc.example.org.evil.example' }, false],
    [{ ...cookie, origin: 'https://evil.example' }, false],
    [{ ...cookie, origin: 'http://10.0.0.5:3000', host: '10.0.0.5:3000' }, true],
    [{ ...cookie, origin: 'http://svc.example', host: 'SVC.example:80' }, true],
    [{ ...cookie, origin: 'http://10.0.0.5:3001', host: '10.0.0.5:3000' }, false],
    // The Host header must match the origin; a proxy must not change it.
    [{ ...cookie, origin, host: 'proxied.example' }, false],
    [{ ...cookie, origin, host: 'not a host' }, false],
  ])('is required for changes, %j: %s', async (headers, isFine) => {
    const { ask, service } = rig();
    const posted = await ask('POST', '', { headers });
    const put = await ask('PUT', '/channel', { headers, body: choice });
    const deleted = await ask('DELETE', '/progress', { headers });
    expect([posted, put, deleted].map(({ status }) => status)).toEqual(
      isFine ? [202, 200, 202] : [403, 403, 403],
    );
    if (!isFine) expect(posted.json.detail).toContain('same origin');
    expect(service.calls).toHaveLength(isFine ? 3 : 0);
    expect((await ask('GET', '', { headers })).status).toBe(200);
  });
});

describe('a GET request that starts an updater', () => {
  it.each([
    ['cross-site', 403],
    ['same-site', 403],
    ['same-origin', 200],
    ['none', 200],
    [null, 200],
  ])('with Sec-Fetch-Site %s returns %s', async (site, status) => {
    const { ask, service } = rig();
    const headers = { cookie: 'session=1', ...(site !== null && { 'sec-fetch-site': site }) };
    const asked = [ask('GET', '/report', { headers }), ask('GET', '/rollback', { headers })];
    expect((await Promise.all(asked)).map((answer) => answer.status)).toEqual([status, status]);
    expect(service.calls).toEqual(status === 200 ? ['report', 'rollback?'] : []);
    expect((await ask('GET', '/history', { headers })).status).toBe(200);
  });
});

describe('internal errors', () => {
  const failure = new Error(secret, { cause: secret });

  afterEach(() => void vi.useRealTimers());

  it.each(endpoints)(
    '%s %s: 500 reveals nothing, 503 has Retry-After, and the log has the cause',
    async (...way) => {
      const [method, where, question] = way;
      const { ask, service, logged } = rig();
      service.failure = new UnavailableError(secret);
      const away = await ask(method, where, question);
      expect([away.status, away.headers.get('retry-after')]).toEqual([503, '5']);
      service.failure = failure;
      const { status, json } = await ask(method, where, question);
      expect([status, json?.title ?? 'Internal Server Error']).toEqual([500, 'Internal Server Error']);
      expect(logged.map(({ level, cause }) => [level, cause])).toEqual([
        ['warn', expect.any(UnavailableError)],
        ['error', failure],
      ]);
    },
  );

  it('during shutdown: a requested stream ends, so that the client reconnects', async () => {
    const { ask, service } = rig();
    await service.start({ target: null, when: 'now', force: false, by: 'admin' });
    service.close();
    const { status, response } = await ask('GET', '/progress', { headers: eventStream });
    const text = await response.text();
    expect(status).toBe(200);
    expect(text).toMatch(/^retry: 1000\n\n(?!.*:end)/s);
  });

  it.each(endpoints.slice(0, 4))(
    '%s %s: 503 for authorized callers while the server closes',
    async (...way) => {
      const [method, where, question, user] = way;
      const { ask, service, logged } = rig();
      service.close();
      const statusAs = async (as: Caller, from = where) =>
        (await ask(method, from, { ...question, as })).status;
      expect(await statusAs('admin')).toBe(503);
      expect(await statusAs(null)).toBe(401);
      expect(await statusAs('user')).toBe(user === 403 ? 403 : 503);
      expect(await statusAs('admin', '/x')).toBe(404);
      expect([service.calls, logged]).toEqual([[], []]);
    },
  );

  it('return 503 if authorize() does not respond within 10 s', async () => {
    vi.useFakeTimers();
    const late = Promise.withResolvers<Caller>();
    const { ask, service } = rig({ authorize: () => late.promise });
    let status = 0;
    const asked = ask('GET').then((answer) => {
      ({ status } = answer);
    });
    await vi.advanceTimersByTimeAsync(9_999);
    expect(status).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await asked;
    expect([status, vi.getTimerCount()]).toEqual([503, 0]);
    // A later error of authorize() has no effect.
    late.reject(new Error(secret));
    expect(service.calls).toEqual([]);
  });

  it('return 500 if authorize() throws', async () => {
    const { ask, service, logged } = rig({
      authorize: () => {
        throw failure;
      },
    });
    expect((await ask('POST')).status).toBe(500);
    expect([service.calls, logged.map(({ cause }) => cause)]).toEqual([[], [failure]]);
  });
});

it('the OpenAPI document describes only responses that tests have seen', async () => {
  const { ask } = rig();
  const wrong: [Question, number][] = [
    [{ body: '{' }, 400],
    [{ body: new Uint8Array(20_000) }, 413],
    [{ body: '{}', type: 'text/plain' }, 415],
  ];
  // Two responses that no other test of this file gets for HEAD.
  expect((await ask('HEAD', '/progress')).status).toBe(404);
  const ended = rig();
  ended.service.run = record();
  ended.service.run.end({ outcome: 'updated', message: 'updated' });
  const headers = { ...eventStream, 'last-event-id': 'run1:end' };
  expect((await ended.ask('HEAD', '/progress', { headers })).status).toBe(204);
  for (const [question, status] of wrong) {
    expect((await ask('POST', '', question)).status).toBe(status);
    expect((await ask('PUT', '/channel', question)).status).toBe(status);
    expect((await ask('PUT', '/skip', question)).status).toBe(status);
    expect((await ask('PUT', '/automatic', question)).status).toBe(status);
    expect((await ask('POST', '/rollback', question)).status).toBe(status);
    expect((await ask('POST', '/rehearsal', question)).status).toBe(status);
  }
  expect((await ask('PUT', '/skip', { body: { version: 'v1.4.9' } })).status).toBe(409);
  vi.useFakeTimers();
  for (const way of [
    'POST ',
    'PUT /channel',
    'PUT /skip',
    'PUT /automatic',
    'POST /rollback',
    'POST /rehearsal',
  ]) {
    const [method = '', where] = way.split(' ');
    const asked = ask(method, where, { body: new ReadableStream() });
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await asked).status).toBe(408);
  }
  vi.useRealTimers();
  expect(described.filter((answer) => !seen.has(answer))).toEqual([]);
});
