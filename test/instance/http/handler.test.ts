import { describe, expect, it } from 'vitest';
import type { Settings } from '../../../src/instance/contract/options.ts';
import { createHandler } from '../../../src/instance/http/handler.ts';
import { reasonCodes } from '../../../src/wire/codes.ts';
import { described, door, origin, path, type Question, request, seen } from './ask.ts';
import { follow } from './follow.ts';
import { MemoryService, record, secret } from './memory-service.ts';

function rig(settings: Partial<Settings> = {}) {
  const service = new MemoryService();
  return { service, ...door(service, settings) };
}

const choice = { channel: 'canary' };
const eventStream = { accept: 'text/event-stream' };

describe('the endpoints', () => {
  it('tell the status', async () => {
    const { ask, service } = rig();
    const { status, json } = await ask('GET');
    expect([status, json.version, json.latest.version]).toEqual([200, 'v1.4.2', 'v1.5.0']);
    expect(service.calls).toEqual(['status']);
  });

  it.each([
    ['?refresh=1', 'refresh'],
    ['?refresh=1&x=y', 'refresh'],
    ['?refresh=0', 'status'],
    ['?refresh', 'status'],
    ['?', 'status'],
  ])('look again with %s: %s', async (query, call) => {
    const { ask, service } = rig();
    expect((await ask('GET', query)).status).toBe(200);
    expect(service.calls).toEqual([call]);
  });

  it('start an update', async () => {
    const { ask, service } = rig();
    const { status, headers, json } = await ask('POST', '', { body: { target: 'v1.5.0' } });
    expect([status, json.state, headers.get('location')]).toEqual([202, 'launching', `${path}/progress`]);
    expect(service.calls).toEqual(['start v1.5.0']);
  });

  it.each(reasonCodes)('refuse an update: %s', async (code) => {
    const { ask, service } = rig();
    service.reason = { code, message: 'Not now.', since: '2026-11-21T10:42:07.000Z' };
    const { status, json } = await ask('POST');
    expect([status, json.title, json.detail, json.reason]).toEqual([
      409,
      'Conflict',
      'Not now.',
      service.reason,
    ]);
  });

  it('choose the channel', async () => {
    const { ask, service } = rig();
    const { status, json } = await ask('PUT', '/channel', { body: choice });
    expect([status, json.channel]).toEqual([200, 'canary']);
    expect(service.calls).toEqual(['channel canary']);
  });

  it('tell the progress', async () => {
    const { ask, service } = rig();
    expect((await ask('GET', '/progress')).status).toBe(404);
    expect((await ask('GET', '/progress', { headers: eventStream })).status).toBe(404);
    service.run = record();
    expect((await ask('GET', '/progress')).json).toEqual(service.run.run);
    const { response, headers } = await ask('GET', '/progress', { headers: eventStream });
    expect(headers.get('x-accel-buffering')).toBe('no');
    const following = follow(response.body);
    expect(await following.some(2)).toEqual(['retry 1000', 'run run1:0 launching']);
    await following.cancel();
    service.run.end('updated', 'updated');
    const headersOfEnd = { ...eventStream, 'last-event-id': 'run1:end' };
    expect((await ask('GET', '/progress', { headers: headersOfEnd })).status).toBe(204);
    expect((await ask('GET', '/progress', { headers: { 'last-event-id': 'run1:end' } })).status).toBe(200);
  });
});

describe('paths and methods', () => {
  it.each([
    '/',
    '/progress/',
    '/channel/',
    '/x',
    '/progress/x',
    '/Progress',
    '/%70rogress',
    '/../x',
    'x',
    '//',
  ])('there is nothing at %s', async (where) => {
    const { ask, service } = rig();
    for (const method of ['GET', 'POST', 'PUT']) {
      expect((await ask(method, where, { as: null })).status).toBe(404);
    }
    expect(service.calls).toEqual([]);
  });

  it.each([
    ['', 'GET, POST', ['HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'constructor', '__proto__', 'PURGE']],
    ['/progress', 'GET', ['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']],
    ['/channel', 'PUT', ['GET', 'HEAD', 'POST', 'DELETE', 'PATCH', 'OPTIONS']],
  ])('%s has %s only', async (where, allow, others) => {
    const { ask, service } = rig();
    for (const method of others) {
      const { status, headers } = await ask(method, where);
      expect([method, status, headers.get('allow')]).toEqual([method, 405, allow]);
    }
    expect(service.calls).toEqual([]);
  });

  it('are where the host wants them', async () => {
    const handle = createHandler(new MemoryService(), {
      path: '/x',
      authorize: () => 'admin',
      log: () => {},
    });
    const get = async (where: string) => (await handle(new Request(`${origin}${where}`))).status;
    expect([await get('/x'), await get('/x?refresh=1'), await get(path), await get('/')]).toEqual([
      200, 200, 404, 404,
    ]);
  });
});

describe('who may', () => {
  const endpoints: [method: string, where: string, question: Question, user: number, admin: number][] = [
    ['GET', '', {}, 200, 200],
    ['GET', '?refresh=1', {}, 200, 200],
    ['POST', '', {}, 403, 202],
    ['GET', '/progress', {}, 403, 200],
    ['GET', '/progress', { headers: eventStream }, 403, 200],
    ['PUT', '/channel', { body: choice }, 403, 200],
  ];

  it.each(endpoints)(
    '%s %s %j: nobody 401, a user %i, an admin %i',
    async (method, where, question, user, admin) => {
      const { ask, service } = rig();
      service.run = record();
      const nobody = await ask(method, where, { ...question, as: null });
      expect([nobody.status, nobody.json.title]).toEqual([401, 'Unauthorized']);
      const asUser = await ask(method, where, { ...question, as: 'user' });
      expect(asUser.status).toBe(user);
      if (user === 200) expect(asUser.json).toEqual({ version: 'v1.4.2' });
      expect(service.calls).toEqual([]);
      const asAdmin = await ask(method, where, { ...question, as: 'admin' });
      expect(asAdmin.status).toBe(admin);
      expect(service.calls).toHaveLength(1);
      if (asAdmin.text === '') await asAdmin.response.body?.cancel();
    },
  );

  it.each([undefined, '', 'root', 'Admin', true, 1, {}, ['admin']])('%j is nobody', async (caller) => {
    const { ask, service } = rig({ authorize: () => caller as 'admin' });
    expect((await ask('GET')).status).toBe(401);
    expect((await ask('POST')).status).toBe(401);
    expect(service.calls).toEqual([]);
  });

  it('is asked with the request itself, whose body nobody has read', async () => {
    const { ask } = rig({
      authorize: async ({ url, method, bodyUsed }) =>
        url === `${origin}${path}` && method === 'POST' && !bodyUsed ? 'admin' : null,
    });
    expect((await ask('POST', '', { body: {} })).status).toBe(202);
  });

  it('does not read the body of those who may not', async () => {
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
    [{ 'sec-fetch-site': 'cross-site' }, true],
    [{ origin: 'https://evil.example' }, true],
    [{ authorization: 'Bearer x', origin: 'https://evil.example' }, true],
    [{ ...cookie, 'sec-fetch-site': 'same-origin' }, true],
    [{ ...cookie, 'sec-fetch-site': 'same-origin', origin: 'https://proxied.example' }, true],
    [{ ...cookie, 'sec-fetch-site': 'same-site', origin }, false],
    [{ ...cookie, 'sec-fetch-site': 'cross-site', origin }, false],
    [{ ...cookie, 'sec-fetch-site': 'none' }, false],
    [{ ...cookie, 'sec-fetch-site': '' }, false],
    [{ ...cookie, 'sec-fetch-site': 'same-origin, same-origin' }, false],
    [{ ...cookie, 'sec-fetch-site': 'cross-site', authorization: 'Bearer x' }, false],
    [cookie, false],
    [{ cookie: '' }, false],
    [{ ...cookie, origin }, true],
    [{ ...cookie, origin: 'http://svc.example.org' }, true],
    [{ ...cookie, origin: 'null' }, false],
    [{ ...cookie, origin: '' }, false],
    [{ ...cookie, origin: 'svc.example.org' }, false],
    [{ ...cookie, origin: `${origin}/` }, false],
    [{ ...cookie, origin: `${origin}:8443` }, false],
    [{ ...cookie, origin: 'https://svc.example.org.evil.example' }, false],
    [{ ...cookie, origin: 'https://evil.example' }, false],
    [{ ...cookie, origin: 'https://x@svc.example.org' }, false],
    [{ ...cookie, origin: 'http://10.0.0.5:3000', host: '10.0.0.5:3000' }, true],
    [{ ...cookie, origin: 'https://svc.example', host: 'svc.example:443' }, true],
    [{ ...cookie, origin: 'http://svc.example', host: 'SVC.example:80' }, true],
    [{ ...cookie, origin: 'http://[::1]:3000', host: '[::1]:3000' }, true],
    [{ ...cookie, origin: 'http://10.0.0.5:3001', host: '10.0.0.5:3000' }, false],
    // The host that the browser named counts, not the one that a proxy calls.
    [{ ...cookie, origin, host: 'proxied.example' }, false],
    [{ ...cookie, origin, host: 'not a host' }, false],
    [{ ...cookie, referer: `${origin}/settings` }, false],
  ])('%j: %s', async (headers, isFine) => {
    const { ask, service } = rig();
    const posted = await ask('POST', '', { headers });
    const put = await ask('PUT', '/channel', { headers, body: choice });
    expect([posted.status, put.status]).toEqual(isFine ? [202, 200] : [403, 403]);
    if (!isFine) expect(posted.json.detail).toContain('same origin');
    expect(service.calls).toHaveLength(isFine ? 2 : 0);
    expect((await ask('GET', '', { headers })).status).toBe(200);
  });

  it('is looked at before the body', async () => {
    const { ask } = rig();
    const question = { headers: cookie, body: new Uint8Array(20_000) };
    expect((await ask('POST', '', question)).status).toBe(403);
  });
});

describe('what goes wrong inside', () => {
  const failure = new Error(secret, { cause: secret });
  const ways: [string, Question][] = [
    ['GET ', {}],
    ['GET ?refresh=1', {}],
    ['POST ', {}],
    ['GET /progress', {}],
    ['GET /progress', { headers: eventStream }],
    ['PUT /channel', { body: choice }],
  ];

  it.each(ways)('%s: 500 says nothing, the log everything', async (way, question) => {
    const [method = '', where = ''] = way.split(' ');
    const { ask, service, logged } = rig();
    service.failure = failure;
    const { status, json } = await ask(method, where, question);
    expect([status, json.title]).toEqual([500, 'Internal Server Error']);
    expect(logged).toEqual([
      { level: 'error', message: 'a request to the update endpoints failed', cause: failure },
    ]);
  });

  it.each<[string, Settings['authorize']]>([
    [
      'throws',
      () => {
        throw failure;
      },
    ],
    ['rejects', () => Promise.reject(failure)],
    ['rejects with no error', () => Promise.reject(secret)],
  ])('authorize %s', async (_, authorize) => {
    const { ask, service, logged } = rig({ authorize });
    for (const [way, question] of ways) {
      const [method = '', where = ''] = way.split(' ');
      expect((await ask(method, where, question)).status).toBe(500);
    }
    expect(logged.map(({ cause }) => String(cause).includes(secret))).toEqual(ways.map(() => true));
    expect(service.calls).toEqual([]);
  });

  it('a log that throws, too, is no reason to reject', async () => {
    const { ask, service } = rig({
      log: () => {
        throw failure;
      },
    });
    service.failure = failure;
    expect((await ask('GET')).status).toBe(500);
  });

  it('a body that the host has read before is a mistake to log', async () => {
    const { ask, logged } = rig({
      authorize: async (asked) => {
        return (await asked.text()) === '{}' ? 'admin' : null;
      },
    });
    expect((await ask('POST', '', { body: {} })).status).toBe(500);
    expect(logged).toHaveLength(1);
  });
});

describe('the document', () => {
  it('describes no answer that nobody has seen', async () => {
    const { ask } = rig();
    const wrong: [Question, number][] = [
      [{ body: '{' }, 400],
      [{ body: new Uint8Array(20_000) }, 413],
      [{ body: '{}', type: 'text/plain' }, 415],
    ];
    for (const [question, status] of wrong) {
      expect((await ask('POST', '', question)).status).toBe(status);
      expect((await ask('PUT', '/channel', question)).status).toBe(status);
    }
    expect(described.filter((answer) => !seen.has(answer))).toEqual([]);
  });
});
