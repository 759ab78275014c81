import { createServer } from 'node:http';
import express from 'express';
import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { follow } from './follow.ts';
import { record } from './memory-service.ts';
import { NodeRig } from './node-rig.ts';

let rig: NodeRig;
afterEach(() => rig.close());

/** Each way in which docs/server-library.md mounts the endpoints, and some that people take instead. */
const mounts: [string, () => Promise<NodeRig>][] = [
  ['Express', () => withExpress((app) => app.use(rig.handler))],
  ['Express, after its parser', () => withExpress((app) => app.use(express.json(), rig.handler))],
  [
    'Express, after one that makes text of it',
    () => withExpress((app) => app.use(express.text({ type: '*/*' }), rig.handler)),
  ],
  ['Express, below a path', () => withExpress((app) => app.use('/api/v1', express.json(), rig.handler))],
  [
    'Fastify',
    async () => {
      rig = new NodeRig();
      const app = fastify();
      app.addHook('onRequest', (request, reply, done) => rig.handler(request.raw, reply.raw, done));
      app.get('/theirs', async () => 'theirs');
      await app.ready();
      app.server.listen(0, '127.0.0.1');
      await rig.use(app.server);
      return rig;
    },
  ],
];

async function withExpress(mount: (app: express.Express) => void): Promise<NodeRig> {
  rig = new NodeRig();
  const app = express();
  mount(app);
  app.get('/theirs', (_, response) => void response.send('theirs'));
  await rig.use(createServer(app).listen(0, '127.0.0.1'));
  return rig;
}

describe.each(mounts)('%s', (_, start) => {
  it('has the endpoints, and its own', async () => {
    const { service } = await start();
    expect(await (await fetch(rig.url())).json()).toMatchObject({ version: 'v1.4.2' });
    expect(await (await fetch(new URL('/theirs', rig.url()))).text()).toBe('theirs');
    expect((await fetch(rig.url('/x'))).headers.get('content-type')).toBe('application/problem+json');
    const posted = await rig.post('{"target":"v1.5.0"}');
    expect([posted.status, posted.headers.get('content-type')]).toEqual([202, 'application/json']);
    expect((await fetch(rig.url(), { method: 'POST' })).status).toBe(202);
    expect((await rig.post('{"target":1}')).status).toBe(400);
    expect(service.calls).toEqual(['status', 'start v1.5.0 for admin', 'start null for admin']);
  });

  it('streams', async () => {
    const { service } = await start();
    service.run = record();
    const { body } = await fetch(rig.url('/progress'), { headers: { accept: 'text/event-stream' } });
    const following = follow(body);
    expect(await following.some(2)).toEqual(['retry 1000', 'run run1:0 launching']);
    service.run.end('updated', 'updated');
    expect((await following.rest()).at(-2)).toBe('run run1:end updated');
  });
});
