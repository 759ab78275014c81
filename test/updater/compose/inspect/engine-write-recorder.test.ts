import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type EngineWriteRecorder,
  startEngineWriteRecorder,
} from '../../../../src/updater/compose/inspect/engine-write-recorder.ts';
import { engineThat } from '../../../engine/http-engine.ts';

/** A recorder in front of an engine that stores all requests. */
async function recorderWith(): Promise<{
  recorder: EngineWriteRecorder;
  seen: string[];
  events: () => void;
}> {
  const seen: string[] = [];
  let events = () => {};
  const engine = await engineThat((from, to) => {
    const { connection, upgrade } = from.headers;
    seen.push(`${from.method} ${from.url}${upgrade ? ` upgrade ${upgrade} ${connection}` : ''}`);
    if (!from.url?.includes('/events')) {
      to.writeHead(from.url?.includes('gone') ? 404 : 200, { 'Api-Version': '1.45' }).end('{"a":1}');
      return;
    }
    to.flushHeaders();
    events = () => to.write('an event\n');
  });
  const recorder = await startEngineWriteRecorder(engine);
  onTestFinished(() => recorder.close());
  return { recorder, seen, events: () => events() };
}

const pathOf = (recorder: EngineWriteRecorder) => recorder.host.replace('unix://', '');

async function ask(
  recorder: EngineWriteRecorder,
  method: string,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<{ status: number; text: string; answer: IncomingMessage }> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const framed = { ...headers, ...(text !== '' && { 'Content-Length': `${text.length}` }) };
    const how = { socketPath: pathOf(recorder), method, path, headers: framed, agent: false };
    const asked = request(how, resolve);
    asked.on('error', reject);
    asked.end(text);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString(), answer };
}

describe('the recorder', () => {
  it('forwards read requests, and returns the response unchanged', async () => {
    const { recorder, seen } = await recorderWith();
    const found = await ask(recorder, 'GET', '/v1.45/containers/json?all=1');
    expect([found.status, found.text, found.answer.headers['api-version']]).toEqual([200, '{"a":1}', '1.45']);
    expect((await ask(recorder, 'GET', '/gone')).status).toBe(404);
    const head = await ask(recorder, 'HEAD', '/_ping');
    expect([head.status, head.text]).toEqual([200, '']);
    expect(seen).toEqual(['GET /v1.45/containers/json?all=1', 'GET /gone', 'HEAD /_ping']);
    expect(recorder.writes).toEqual([]);
  });

  it.each([
    ['POST', '/v1.45/containers/create?name=svc-app-1', 500],
    ['POST', '/containers/abc/stop?t=10', 204],
    ['POST', '/v1.45/containers/abc/exec', 500],
    ['POST', '/v1.45/networks/create', 201],
    ['POST', '/v1.45/networks/net/disconnect', 200],
    ['DELETE', '/v1.45/networks/net', 204],
    ['POST', '/v1.45/volumes/create', 201],
    ['DELETE', '/v1.45/containers/abc?force=1', 204],
    ['POST', '/v1.45/images/create?fromImage=x', 500],
    ['PUT', '/v1.45/containers/abc/archive?path=/', 500],
    ['OPTIONS', '/anything', 500],
  ])('records %s %s, responds with %i, and forwards nothing', async (method, path, status) => {
    const { recorder, seen } = await recorderWith();
    const { status: answered, text } = await ask(recorder, method, path, { body: { Name: 'a name' } });
    expect(answered).toBe(status);
    if (status === 201)
      expect(JSON.parse(text)).toMatchObject(path.includes('volumes') ? { Name: 'a name' } : {});
    const apiVersion = path.startsWith('/v1.45') ? '1.45' : '';
    const name = /(?:name|fromImage)=(.*)/.exec(path)?.[1] ?? '';
    const bare = path.replace('/v1.45', '').replace(/\?.*/, '');
    expect(recorder.writes).toEqual([{ method, path: bare, name, apiVersion, body: { Name: 'a name' } }]);
    expect(seen).toEqual([]);
  });

  it('never forwards an upgrade, because an upgraded connection could write', async () => {
    const { recorder, seen } = await recorderWith();
    const headers = { Connection: 'Upgrade', Upgrade: 'websocket' };
    await ask(recorder, 'GET', '/v1.45/containers/abc/attach/ws?stdin=1', { headers });
    const hijack = { Connection: 'Upgrade', Upgrade: 'tcp' };
    expect((await ask(recorder, 'POST', '/v1.45/containers/abc/attach', { headers: hijack })).status).toBe(
      500,
    );
    expect(seen).toEqual(['GET /v1.45/containers/abc/attach/ws?stdin=1']);
  });

  it('never forwards a tunnel, or a write after a read on the same connection', async () => {
    const { recorder, seen } = await recorderWith();
    const said = await new Promise<string>((resolve) => {
      const socket = connect(pathOf(recorder));
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
        // The server closes the connection because it does not support tunnels.
        if (text.split('HTTP/1.1 ').length === 3) socket.write('CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n');
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(text));
      const inside = 'POST /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
      socket.write(`GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: ${inside.length}\r\n\r\n${inside}`);
      socket.write('POST /containers/a/kill HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
    });
    expect(said.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 500']);
    expect(seen).toEqual(['GET /a']);
  });

  it('forwards events immediately', async () => {
    const { recorder, events } = await recorderWith();
    const answer = await new Promise<IncomingMessage>((resolve) => {
      request({ socketPath: pathOf(recorder), path: '/events', agent: false }, resolve).end();
    });
    const heard = new Promise<string>((resolve) => answer.once('data', (chunk) => resolve(`${chunk}`)));
    events();
    expect(await heard).toBe('an event\n');
    answer.destroy();
  });
});
