import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/client/explain.ts';
import { Reader } from '../../src/wire/reader.ts';
import { selfSigned } from '../engine/self-signed.ts';
import { endless, type Reply, text } from '../feed/forge.ts';
import { afterTests, serve } from './rig.ts';

type Answering = (request: IncomingMessage, response: ServerResponse) => unknown;

/** What somebody is told whose first question gets that answer. */
async function said(url: string): Promise<string> {
  const answer = await new Reader({ address: `${url}/api/v1/instance/update` }).status();
  if (answer.kind === 'ok') return JSON.stringify(answer.value);
  const config = { url, token: null, urlSetting: 'SVC_URL', tokenSetting: 'SVC_TOKEN', openFile: null };
  return explain(answer, config).replaceAll(url, 'URL');
}

const page =
  (status: number, headers: Record<string, string> = {}): Answering =>
  (_, response) =>
    response.writeHead(status, { 'Content-Type': 'text/html', ...headers }).end('<h1>Log in</h1>');
const problem =
  (status: number, detail: string, headers: Record<string, string> = {}): Answering =>
  (_, response) =>
    response
      .writeHead(status, { 'Content-Type': 'application/problem+json', ...headers })
      .end(JSON.stringify({ status, detail }));
const json =
  (body: string): Answering =>
  (_, response) =>
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(body);
const half: Answering = (_, response) =>
  response
    .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '9999' })
    .write('{"version":', () => response.destroy());
/** A few kilobytes that become 64 MiB. */
const packed = text(200, gzipSync(Buffer.alloc(64 * 1024 * 1024, ' ')), {
  'content-type': 'application/json',
  'content-encoding': 'gzip',
});

describe.concurrent('what to change is said where the answer is', () => {
  it.each<[string, Answering, string]>([
    [
      'a redirect to TLS',
      page(308, { Location: 'https://svc.test/api/v1/instance/update' }),
      'URL redirects. SVC_URL should be https://svc.test',
    ],
    [
      'a redirect to a log-in',
      page(302, { Location: '/login?next=/' }),
      'URL redirects to URL/login, perhaps a log-in. That is not followed; see SVC_URL.',
    ],
    [
      'a redirect to the same with a slash',
      ({ url }, response) => response.writeHead(301, { Location: `${url}/` }).end(),
      'URL redirects to itself: something in front of svc changes addresses. See SVC_URL.',
    ],
    [
      '401 of svc, whatever a proxy adds',
      problem(401, 'Log in first.', { 'WWW-Authenticate': 'Basic' }),
      'URL wants to know who asks (401). Set SVC_TOKEN, or log in: svc login',
    ],
    [
      "a proxy's 401",
      page(401, { 'WWW-Authenticate': 'Basic realm="staging"' }),
      'Something in front of svc at URL wants a login of its own (401, Basic), and svc was not asked. It has to let /api/v1/instance/update pass; else see SVC_URL.',
    ],
    [
      '403',
      problem(403, 'Only admins can do this.'),
      'URL does not allow this (403): Only admins can do this. See SVC_TOKEN.',
    ],
    ["a proxy's 404", page(404), 'Something else than svc answers at URL (404, text/html). See SVC_URL.'],
    [
      "a proxy's 504",
      page(504),
      'Something else than svc answers at URL (504, text/html). Is svc up? Else see SVC_URL.',
    ],
    [
      'JSON of somebody else',
      json('{"version":"3.2","status":"ok"}'),
      'Something else than svc answers at URL (200, application/json). See SVC_URL.',
    ],
    [
      'another protocol',
      ({ socket }) => socket.end('SSH-2.0-x\r\n'),
      'Something that speaks no HTTP answers at URL. See SVC_URL.',
    ],
    [
      'half an answer',
      half,
      'URL closed the connection before it had answered. Is svc up? Else see SVC_URL.',
    ],
  ])('%s', async (_, answer, sentence) => {
    expect(await said(await serve(answer))).toBe(sentence);
  });

  it.each<[string, Reply]>([
    ['without an end', endless()],
    ['that is packed', packed],
  ])('of an answer %s no more than 8 MiB is read', async (_, answer) => {
    const dropped = Promise.withResolvers<void>();
    const url = await serve((request, response) => {
      response.on('close', dropped.resolve);
      answer(request, response);
    });
    expect(await said(url)).toBe(
      'What answers at URL sends more than 8 MiB, as svc never does. See SVC_URL.',
    );
    await dropped.promise;
  });

  it('nobody answers, or nobody who speaks TLS', async () => {
    const url = await serve(() => {});
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    expect(await said(`http://127.0.0.1:${port}`)).toBe(
      'Nothing answers at URL: connection refused. Is svc up? Else see SVC_URL.',
    );
    expect(await said('http://svc.invalid')).toBe('There is no host svc.invalid (URL). See SVC_URL.');
    expect(await said(url.replace('http:', 'https:'))).toBe(
      `URL does not speak TLS. SVC_URL should perhaps be ${url}`,
    );
  });

  it('a certificate that is not trusted: which setting trusts one', async () => {
    const server = createTlsServer(selfSigned(), (_, response) => response.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    afterTests(() => server.close());
    expect(await said(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)).toBe(
      'The certificate at URL is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT). Name the file of its authority in NODE_EXTRA_CA_CERTS.',
    );
  });
});
