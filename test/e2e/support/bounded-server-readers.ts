// Readers of the server's responses and of requests to the server, each with an adversary.

import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import * as z from 'zod/mini';
import { toNodeHandler } from '../../../src/server/http/node-handler.ts';
import { ProblemError } from '../../../src/server/http/problem.ts';
import { readJsonBody } from '../../../src/server/http/read-json-body.ts';
import { fetchReport } from '../../../src/wire/api-client/fetch-report.ts';
import { readEventStream } from '../../../src/wire/api-client/read-event-stream.ts';
import { followRun } from '../../../src/wire/api-client/run-follow-events.ts';
import { UpdateApiClient } from '../../../src/wire/api-client/update-api-client.ts';
import { type Flow, send, serve } from './adversary.ts';
import { aborted, count, deadlineFor, each, type Reader, soon } from './bounded-reader.ts';

const never = new AbortController().signal;
const clientOf = (address: string, flow: Flow) =>
  new UpdateApiClient({ address, deadlines: { read: deadlineFor(flow) } });

export const readers: Reader[] = [
  {
    name: 'status of the server',
    read: async (flow) => JSON.stringify(await clientOf((await serve(flow)).url, flow).fetchStatus()),
    ends: each(/"what":"large"/, /"what":"late"/),
  },
  {
    name: 'problem of the server',
    read: async (flow) => {
      const { url } = await serve(flow, { status: 500, type: 'application/problem+json' });
      return JSON.stringify(await clientOf(url, flow).fetchStatus());
    },
    ends: each(/"what":"large"/, /"what":"late"/),
  },
  {
    name: 'report of the server',
    read: async (flow) => {
      const { url } = await serve(flow, { type: 'application/gzip' });
      return JSON.stringify(await fetchReport(clientOf(url, flow), never, deadlineFor(flow)));
    },
    ends: each(/"what":"large"/, /"what":"late"/),
  },
  {
    name: 'event of the server',
    read: async (flow) => {
      const { url } = await serve(flow, { line: () => 'data: x\n' });
      const { body } = await fetch(url, { signal: flow === 'one byte a second' ? soon() : never });
      return body && count(readEventStream(body));
    },
    ends: each(/an event of the stream is too large/, aborted),
  },
  {
    name: 'events of a run',
    read: async (flow) => {
      const { url } = await serve(flow, { type: 'text/event-stream', line: (n) => `data: ${n}\n\n` });
      return count(followRun(clientOf(url, flow), { runId: 'x', signal: soon(), timing: { silence: 500 } }));
    },
    ends: each(/^ended /),
  },
  {
    name: 'request body of the server',
    read: async (flow) => {
      const handle = async (request: Request) => {
        const error = await readJsonBody(request, z.unknown()).catch((reason: unknown) => reason);
        return new Response(String(error), { status: error instanceof ProblemError ? error.status : 200 });
      };
      const server = createServer(toNodeHandler({ matches: () => true, handle }));
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port } = server.address() as AddressInfo;
      const request = httpRequest({ port, method: 'POST', headers: { 'Content-Type': 'application/json' } });
      request.on('error', () => {});
      send(flow, {}, request);
      const [response]: IncomingMessage[] = await once(request, 'response');
      const problem = response && `${response.statusCode} ${await text(response)}`;
      request.destroy();
      server.close();
      return problem;
    },
    ends: each(/^413 .*larger than 16384 bytes/, /^408 .*within 10 s/),
  },
];
