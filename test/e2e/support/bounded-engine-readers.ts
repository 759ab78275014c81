// Readers of data from the engine and from compose's requests to the engine, each with an adversary.

import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { watchContainerStarts } from '../../../src/engine/containers/container-events.ts';
import { EngineApi } from '../../../src/engine/engine-api.ts';
import { startEngineWriteRecorder } from '../../../src/updater/compose/inspect/engine-write-recorder.ts';
import { type Flow, root, send, serve, serveHeaders } from './adversary.ts';
import {
  aborted,
  count,
  deadlineFor,
  each,
  engineAt,
  late,
  limitMs,
  type Reader,
  soon,
} from './bounded-reader.ts';

function apiAt(path: string, flow: Flow): EngineApi {
  const deadlineMs = deadlineFor(flow);
  const timeouts = { query: deadlineMs, work: deadlineMs, pullSilence: 5_000, logSilence: 5_000 };
  return new EngineApi(path, { timeouts });
}

export const readers: Reader[] = [
  {
    name: 'engine response',
    read: async (flow) => apiAt((await serve(flow)).path, flow).listContainers({}),
    ends: each(/longer than 16777216 bytes/, late),
  },
  {
    name: 'engine version',
    read: async (flow) => apiAt((await serve(flow, { isVersion: true })).path, flow).getFacts(),
    ends: each(/longer than 16777216 bytes/, late),
  },
  {
    name: 'engine response headers',
    read: async (flow) => apiAt((await serveHeaders(flow)).host, flow).getFacts(),
    ends: each(/Header overflow/, late),
  },
  {
    name: 'engine error of a stream',
    read: async (flow) => {
      const { path } = await serve(flow, { status: 500 });
      return count(apiAt(path, flow).followLog('x', new AbortController().signal));
    },
    ends: each(/a proxy in front of the engine blocks GET/, late),
  },
  {
    name: 'file of a container',
    read: async (flow) => {
      const options = { params: { id: 'x' }, limit: 1024 ** 2, cut: true, deadlineMs: deadlineFor(flow) };
      const { body } = await apiAt((await serve(flow)).path, flow).request('readArchive', options);
      return `${body.length} bytes`;
    },
    ends: each(/^1048576 bytes$/, late),
  },
  {
    name: 'pull progress',
    read: async (flow) => {
      // Each line is about another layer.
      const line = (n: number) =>
        `{"status":"Downloading","id":"layer ${n}","progressDetail":{"current":1,"total":9}}\n`;
      const pull = { repository: 'svc', tag: 'v1', credentials: null, onProgress: () => {}, signal: soon() };
      return apiAt((await serve(flow, { line })).path, flow).pullImage(pull);
    },
    ends: each(aborted),
  },
  {
    name: 'load progress',
    read: async (flow) => {
      const { path } = await serve(flow, { line: (n) => `{"stream":"${n}"}\n` });
      return apiAt(path, flow).loadImages(Readable.from([]), soon());
    },
    ends: each(aborted),
  },
  {
    name: 'engine events',
    read: async (flow) => {
      const { path, closed } = await serve(flow, { line: (n) => `{"Actor":{"ID":"${n}"}}\n` });
      const close = watchContainerStarts(engineAt(`unix://${path}`, flow), () => {});
      await sleep(limitMs);
      close();
      await closed;
      return 'closed';
    },
    ends: each(/^closed$/),
  },
  {
    name: 'followed log',
    read: async (flow) => count(apiAt((await serve(flow)).path, flow).followLog('x', soon())),
    ends: { ...each(/^ended without values$/), 'endless stream': /^ended after some values$/ },
  },
  {
    name: 'error in a log',
    read: async (flow) => {
      const start = Buffer.from([3, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
      return count(apiAt((await serve(flow, { start })).path, flow).followLog('x', soon()));
    },
    ends: each(/^ended without values$/),
  },
  {
    name: 'last lines of a log',
    read: async (flow) => {
      const start = Buffer.from([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
      const { path } = await serve(flow, { start });
      const signal = flow === 'one byte a second' ? new AbortController().signal : soon();
      return apiAt(path, flow).readLastLines('readLog', 'x', { count: 20, signal });
    },
    ends: each(aborted, /did not send the log within 10 s/),
  },
  {
    name: 'request of compose',
    read: async (flow) => {
      const recorder = await startEngineWriteRecorder(engineAt(`unix://${join(root, 'none.sock')}`, flow));
      const socketPath = recorder.host.slice('unix://'.length);
      const request = httpRequest({ socketPath, method: 'POST', path: '/containers/create' });
      const closed = once(request, 'error');
      send(flow, {}, request);
      if (flow === 'one byte a second') setTimeout(() => void recorder.close(), limitMs);
      await closed;
      return `connection closed, ${recorder.writes.length} requests recorded`;
    },
    ends: each(/^connection closed, 0 requests recorded$/),
  },
  {
    name: 'response to compose',
    read: async (flow) => {
      const recorder = await startEngineWriteRecorder(engineAt(`unix://${(await serve(flow)).path}`, flow));
      const request = httpRequest({ socketPath: recorder.host.slice('unix://'.length), path: '/events' });
      request.on('error', () => {}).end();
      // The client stops reading, so the recorder must stop, too.
      const [response]: IncomingMessage[] = await once(request, 'response');
      response?.pause().on('error', () => {});
      await sleep(limitMs);
      await recorder.close();
      return 'closed';
    },
    ends: each(/^closed$/),
  },
];
