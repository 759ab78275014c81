import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { UnavailableError } from '../../../src/server/run/update-api.ts';
import {
  ProductCallbackClient,
  RepeatedCallbackFailureError,
} from '../../../src/server/serve/product-callback-client.ts';

const secret = 's'.repeat(32);
/** No test waits for the repeat unless it sets another interval. */
const waits = { request: 30_000, attempts: 60_000, pause: 5, repeat: 1_000_000 };

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0)) close();
});

/** A product with the given response, and the requests that it has received. */
async function productWith(answer: RequestListener, changed: Partial<typeof waits> = {}) {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const callbacksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/updates/`;
  const callbacks = new ProductCallbackClient({ callbacksUrl, secret }, { ...waits, ...changed });
  opened.push(() => {
    callbacks.close();
    server.close();
    server.closeAllConnections();
  });
  return { asked, callbacks };
}

it('requests the jobs with the secret', async () => {
  const { asked, callbacks } = await productWith(({ headers }, response) =>
    response.end(JSON.stringify([{ title: headers.authorization }])),
  );
  expect(await callbacks.jobs()).toEqual([{ title: `Bearer ${secret}` }]);
  expect(asked).toEqual(['GET /updates/jobs']);
});

it('retries until the product responds', async () => {
  const faults = ['fails', 'hangs', 'drops the connection', 'sends no JSON'];
  const { asked, callbacks } = await productWith(
    (_, response) => {
      const fault = faults.shift();
      if (fault === 'drops the connection') response.destroy();
      else if (fault === 'fails') response.writeHead(502).end('[]');
      else if (fault !== 'hangs') response.end(fault ?? '[]');
    },
    { request: 500 },
  );
  expect(await callbacks.jobs()).toEqual([]);
  expect(asked.length).toBeGreaterThan(4);
});

it('gives up with the last cause, and follows no redirect', async () => {
  const { callbacks } = await productWith(
    ({ url }, response) =>
      url === '/other' ? response.end('[]') : response.writeHead(303, { location: '/other' }).end(),
    { attempts: 100 },
  );
  await expect(callbacks.jobs()).rejects.toThrow('fetch failed');
  const failing = await productWith((_, response) => response.writeHead(500).end(), { attempts: 100 });
  await expect(failing.callbacks.resume()).rejects.toThrow(
    'the product responded to POST queue/release with status 500',
  );
});

it('repeats the wanted state of the queue, so that a restarted product gets it', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { asked, callbacks } = await productWith(
    (_, response) => {
      response.end();
      if (asked.filter((each) => each.endsWith('hold')).length === 3) resolve();
    },
    { repeat: 10 },
  );
  await callbacks.resume();
  await callbacks.hold();
  await promise;
  const released = asked.lastIndexOf('POST /updates/queue/release');
  expect(asked.slice(released + 1, released + 4)).toEqual(Array(3).fill('POST /updates/queue/hold'));
});

it('sends the newest state after a request that hangs', async () => {
  const arrived = Promise.withResolvers<void>();
  let isFirst = true;
  const { asked, callbacks } = await productWith(
    (_, response) => {
      if (!isFirst) response.end();
      isFirst = false;
      arrived.resolve();
    },
    { request: 500 },
  );
  const held = callbacks.hold();
  await arrived.promise;
  await Promise.all([held, callbacks.resume()]);
  expect([asked[0], ...new Set(asked.slice(1))]).toEqual([
    'POST /updates/queue/hold',
    'POST /updates/queue/release',
  ]);
});

it('sends one state at a time, so that the newest arrives last', async () => {
  let open = 0;
  const most: number[] = [];
  const { callbacks } = await productWith((_, response) => {
    most.push(++open);
    setTimeout(() => {
      open--;
      response.end();
    }, 20);
  });
  await Promise.all([callbacks.hold(), callbacks.resume(), callbacks.hold()]);
  expect(most).toEqual([1, 1, 1]);
});

it('requests the user with the credentials of the request', async () => {
  const { callbacks } = await productWith(({ headers }, response) => {
    const { cookie, 'x-forwarded-authorization': login } = headers;
    response.writeHead(cookie === 'none' ? 401 : 200).end(JSON.stringify({ cookie, login }));
  });
  expect(await callbacks.user({ cookie: 'a=b', authorization: 'Basic x' })).toEqual({
    cookie: 'a=b',
    login: 'Basic x',
  });
  expect(await callbacks.user({ cookie: 'none', authorization: null })).toBeNull();
});

it.each<[string, RequestListener]>([
  ['fails', (_, response) => response.writeHead(500).end()],
  ['hangs', () => {}],
  ['forbids', (_, response) => response.writeHead(403).end()],
  ['sends no JSON', (_, response) => response.end('<html>')],
])('fails as unavailable if the product %s', async (_, answer) => {
  const { callbacks } = await productWith(answer, { request: 500 });
  await expect(callbacks.user({ cookie: 'a=b', authorization: null })).rejects.toThrow(UnavailableError);
});

it.each<[string, RequestListener]>([
  ['fails', (_, response) => response.writeHead(500).end('[]')],
  ['sends nonsense', (_, response) => response.end('nonsense')],
])('reports once that a callback %s, until it succeeds again', async (_, fail) => {
  let answer = fail;
  const { callbacks } = await productWith((...given) => answer(...given), { attempts: 1 });
  const isReported = async (asked: Promise<unknown>) => {
    const error = await asked.then(
      () => null,
      (cause: Error) => cause,
    );
    const causes = [error, error?.cause];
    return error !== null && !causes.some((cause) => cause instanceof RepeatedCallbackFailureError);
  };
  const user = () => callbacks.user({ cookie: 'a=b', authorization: null });
  const reports = async () => [await isReported(user()), await isReported(callbacks.jobs())];
  expect(await reports()).toEqual([true, true]);
  expect(await reports()).toEqual([false, false]);
  // 401 is a response, and other callbacks may still fail.
  answer = ({ url }, response) => response.writeHead(url?.endsWith('user') ? 401 : 500).end();
  expect(await user()).toBeNull();
  answer = fail;
  expect(await reports()).toEqual([true, false]);
  answer = (_request, response) => response.end('[]');
  expect(await callbacks.jobs()).toEqual([]);
  answer = fail;
  expect(await reports()).toEqual([false, true]);
});

it.each(['{"jobs":[]}', 'null', '"[]"', '7'])('retries if the jobs are not a list: %s', async (nonsense) => {
  const answers = [nonsense, nonsense];
  const { asked, callbacks } = await productWith((_, response) => response.end(answers.shift() ?? '[{}]'));
  expect(await callbacks.jobs()).toEqual([{}]);
  expect(asked).toHaveLength(3);
});
