import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/client/explain.ts';
import { Reader } from '../../src/wire/reader.ts';
import { endless, type Reply, text } from '../feed/forge.ts';
import { serve } from './rig.ts';

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
    response.writeHead(status, { 'Content-Type': 'text/html', ...headers }).end('<h1>Hello</h1>');
const json =
  (body: string): Answering =>
  (_, response) =>
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(body);
/** A few kilobytes that become 64 MiB. */
const packed = text(200, gzipSync(Buffer.alloc(64 * 1024 * 1024, ' ')), {
  'content-type': 'application/json',
  'content-encoding': 'gzip',
});
const notSvc = 'Something else than svc answers at URL (200, application/json). See SVC_URL.';

describe.concurrent('what to change is said where the answer is', () => {
  it.each<[string, Answering, string]>([
    [
      'a redirect to the same with a slash',
      ({ url }, response) => response.writeHead(301, { Location: `${url}/` }).end(),
      'URL redirects to itself: something in front of svc changes addresses. See SVC_URL.',
    ],
    [
      '404 of svc',
      (_, response) =>
        response
          .writeHead(404, { 'Content-Type': 'application/problem+json' })
          .end('{"detail":"There is nothing here."}'),
      'URL answered 404: There is nothing here. See SVC_URL.',
    ],
    [
      "the host's own 401, by another type",
      (_, response) => response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end(),
      'URL wants to know who asks (401). Set SVC_TOKEN, or log in: svc login',
    ],
    [
      '401 of svc, whatever a proxy adds',
      (_, response) =>
        response
          .writeHead(401, { 'Content-Type': 'application/problem+json', 'WWW-Authenticate': 'Basic' })
          .end('{"detail":"Log in first."}'),
      'URL wants to know who asks (401). Set SVC_TOKEN, or log in: svc login',
    ],
    ...[502, 503, 504].map((status): [string, Answering, string] => [
      `a proxy's ${status}`,
      page(status),
      `Something else than svc answers at URL (${status}, text/html). Is svc up? Else see SVC_URL.`,
    ]),
    ['407', page(407), 'The connection to URL failed (no reason is known). Is svc up? Else see SVC_URL.'],
    [
      'another protocol',
      ({ socket }) => socket.end('SSH-2.0-x\r\n'),
      'Something that speaks no HTTP answers at URL. See SVC_URL.',
    ],
    ...['{"version":"3.2","status":"ok"}', '{}', '[]', 'null', '"x"', ''].map(
      (body): [string, Answering, string] => [`JSON of somebody else: ${body}`, json(body), notSvc],
    ),
    [
      'what any user may know',
      json('{"version":"v1","updating":false}'),
      '{"version":"v1","updating":false}',
    ],
  ])('%s', async (_, answer, sentence) => {
    expect(await said(await serve(answer))).toBe(sentence);
  });

  it.each<[string, Reply]>([
    ['without an end', endless()],
    ['that is packed', packed],
    ['of a problem', text(500, ' '.repeat(9_000_000), { 'content-type': 'application/problem+json' })],
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

  it('nothing, as Node does not even try', async () => {
    expect(await said('http://localhost:6000')).toBe(
      'Node does not connect to port 6000 (URL). See SVC_URL.',
    );
  });
});
