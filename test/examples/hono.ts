// The same with Hono, with names, a dump before each update, and a word about its end. The queue is as above.
import { execFile } from 'node:child_process';
import { createHash, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createInstanceUpdates, fileStore } from 'svc-updater/instance';

const { VERSION = 'v1.4.2', ADMIN_TOKEN, DATA = '/data', PORT = '8080' } = process.env;
const { FEED = 'https://api.github.com/repos/acme/svc/releases', DATABASE } = process.env;
if (!ADMIN_TOKEN) throw new Error('ADMIN_TOKEN is not set');

const updates = createInstanceUpdates({
  version: VERSION,
  updaterImage: 'ghcr.io/acme/svc-updater:1.0.0',
  feed: { url: FEED },
  authorize({ headers }) {
    const bearer = headers.get('authorization')?.replace(/^Bearer /, '');
    const hash = (text: string) => createHash('sha256').update(text).digest();
    const isAdmin = timingSafeEqual(hash(bearer ?? ''), hash(ADMIN_TOKEN));
    return isAdmin ? { role: 'admin', name: 'anna' } : null;
  },
  queue: { hold: () => {}, resume: () => {}, jobs: () => [] },
  store: fileStore(join(DATA, 'updates')),
  preparation: 'A dump of the database is made first.',
  async beforeUpdate({ run, say, signal }) {
    if (!DATABASE) return;
    say('pg_dump');
    await promisify(execFile)('pg_dump', ['--file', join(DATA, `${run}.sql`), DATABASE], { signal });
  },
  onEnd: ({ outcome, message }) => console.log(`update ${outcome}: ${message}`),
});

const app = new Hono();
// Their own path and everything below it.
app.all('/api/v1/instance/update/*', (c) => updates.handle(c.req.raw));
app.get('/', (c) => c.text(`svc ${VERSION}\n`));
const server = serve({ fetch: app.fetch, port: Number(PORT) }, (address) =>
  console.log('listening', address),
);

process.on('SIGTERM', async () => {
  server.close();
  await updates.close();
  process.exit();
});

await updates.start();
