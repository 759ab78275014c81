import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { explainFailedResult } from '../../../src/client/connection/explain-failed-result.ts';
import { UpdateApiClient } from '../../../src/wire/api-client/update-api-client.ts';
import { selfSigned } from '../../engine/self-signed.ts';
import { endless, type Reply, text } from '../../feed/forge.ts';
import { afterTests, serve } from '../rig.ts';

type Answering = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Requests the status, and returns the explanation of the response. */
async function said(url: string): Promise<string> {
  const answer = await new UpdateApiClient({ address: `${url}/api/v1/instance/update` }).fetchStatus();
  if (answer.kind === 'ok') return JSON.stringify(answer.value);
  const config = { url, token: null, urlSetting: 'SVC_URL', tokenSetting: 'SVC_TOKEN', insecureFile: null };
  return explainFailedResult(answer, config).replaceAll(url, 'URL');
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
/** A few kilobytes that decompress to 64 MiB. */
const packed = text(200, gzipSync(Buffer.alloc(64 * 1024 * 1024, ' ')), {
  'content-type': 'application/json',
  'content-encoding': 'gzip',
});

describe.concurrent('the client', () => {
  it.each<[string, Answering, string]>([
    [
      'a redirect to TLS',
      page(308, { Location: 'https://svc.test/api/v1/instance/update' }),
      'URL redirects. Set SVC_URL to https://svc.test',
    ],
    [
      'a redirect to a log-in',
      page(302, { Location: '/login?next=/' }),
      'URL redirects to URL/login, possibly a login page. Redirects are not followed; check SVC_URL.',
    ],
    [
      'a redirect to the same with a slash',
      ({ url }, response) => response.writeHead(301, { Location: `${url}/` }).end(),
      'URL redirects to itself. A proxy in front of svc may be rewriting addresses; check SVC_URL.',
    ],
    [
      '401 of svc, whatever a proxy adds',
      problem(401, 'Log in first.', { 'WWW-Authenticate': 'Basic' }),
      'URL requires a login (401). Set SVC_TOKEN, or log in: svc login',
    ],
    [
      "a proxy's 401",
      page(401, { 'WWW-Authenticate': 'Basic realm="staging"' }),
      'A proxy in front of svc at URL requires its own login (401, Basic). Configure the proxy to let requests to /api/v1/instance/update through, or check SVC_URL.',
    ],
    [
      '403',
      problem(403, 'Only admins can do this.'),
      'URL rejected the request (403): Only admins can do this. Check SVC_TOKEN.',
    ],
    [
      "a proxy's 404",
      page(404),
      'URL responded, but the response is not from svc (404, text/html). Check SVC_URL.',
    ],
    [
      "a proxy's 504",
      page(504),
      'URL responded, but the response is not from svc (504, text/html). Check that svc is running and that SVC_URL is correct.',
    ],
    [
      'JSON of another program',
      json('{"version":"3.2","status":"ok"}'),
      'URL responded, but the response is not from svc (200, application/json). Check SVC_URL.',
    ],
    [
      'another protocol',
      ({ socket }) => socket.end('SSH-2.0-x\r\n'),
      'The response from URL is not valid HTTP. Check SVC_URL.',
    ],
    [
      'an incomplete answer',
      half,
      'URL closed the connection before the response was complete. Check that svc is running and that SVC_URL is correct.',
    ],
  ])('explains %s', async (_, answer, sentence) => {
    expect(await said(await serve(answer))).toBe(sentence);
  });

  it.each<[string, Reply]>([
    ['without an end', endless()],
    ['that is packed', packed],
  ])('reads at most 8 MiB of a response %s', async (_, answer) => {
    const dropped = Promise.withResolvers<void>();
    const url = await serve((request, response) => {
      response.on('close', dropped.resolve);
      answer(request, response);
    });
    expect(await said(url)).toBe(
      'The response from URL is larger than 8 MiB, so the server at that address is not svc. Check SVC_URL.',
    );
    await dropped.promise;
  });

  it('explains a refused connection, an unknown host and a server without TLS', async () => {
    const url = await serve(() => {});
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    expect(await said(`http://127.0.0.1:${port}`)).toBe(
      'URL refused the connection. Check that svc is running and that SVC_URL is correct.',
    );
    expect(await said('http://svc.invalid')).toBe('The host svc.invalid was not found (URL). Check SVC_URL.');
    expect(await said(url.replace('http:', 'https:'))).toBe(
      `URL does not use TLS. If the server uses plain HTTP, set SVC_URL to ${url}`,
    );
  });

  it('explains how to trust a certificate', async () => {
    const server = createTlsServer(selfSigned(), (_, response) => response.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    afterTests(() => server.close());
    expect(await said(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)).toBe(
      'The certificate for URL is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT). Set NODE_EXTRA_CA_CERTS to the path of its CA certificate.',
    );
  });
});
