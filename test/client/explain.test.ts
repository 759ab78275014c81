import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/client/explain.ts';
import { Reader } from '../../src/wire/reader.ts';
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

  it('nothing, as Node does not even try', async () => {
    expect(await said('http://localhost:6000')).toBe(
      'Node does not connect to port 6000 (URL). See SVC_URL.',
    );
  });
});
