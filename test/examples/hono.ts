// The same with Hono, with jobs that outlive the server, names, a dump before each update, and servers elsewhere.
import { execFile } from 'node:child_process';
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createInstanceUpdates, fileStore, type Job } from 'svc-updater/instance';

const { VERSION = 'v1.4.2', ADMIN_TOKEN, DATA = '/data', PORT = '8080' } = process.env;
const { FEED = 'https://api.github.com/repos/acme/svc/releases', DATABASE } = process.env;
if (!ADMIN_TOKEN) throw new Error('ADMIN_TOKEN is not set');
const jobFolder = join(DATA, 'jobs');
await mkdir(jobFolder, { recursive: true });

let isHeld = false;
let running: string | null = null;

const updates = createInstanceUpdates({
  version: VERSION,
  updaterImage: 'ghcr.io/acme/svc-updater:1.0.0',
  feed: { url: FEED },
  authorize({ headers }) {
    const bearer = headers.get('authorization')?.replace(/^Bearer /, '');
    const cookie = /(?:^|; )session=([^;]+)/.exec(headers.get('cookie') ?? '')?.[1];
    const hash = (text: string) => createHash('sha256').update(text).digest();
    const isAdmin = timingSafeEqual(hash(bearer ?? cookie ?? ''), hash(ADMIN_TOKEN));
    return isAdmin ? { role: 'admin', name: 'anna' } : null;
  },
  queue: {
    hold() {
      isHeld = true;
    },
    resume() {
      isHeld = false;
    },
    async jobs() {
      // A file a job: `<when>-<id>.<kind>`.
      return (await readdir(jobFolder)).map((name) => ({
        kind: name.split('.')[1] as Job['kind'],
        state: name === running ? 'running' : 'queued',
        since: new Date(Number(name.split('-')[0])),
      }));
    },
  },
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
app.post('/backups', async (c) => {
  await writeFile(join(jobFolder, `${Date.now()}-${randomUUID()}.backup`), '', { flush: true });
  return c.text('queued\n', 202);
});
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
for (;;) {
  const [next = null] = (await readdir(jobFolder)).sort();
  // Looked at after the last `await`: between this and `running = next` nobody can hold the queue.
  running = isHeld ? null : next;
  await sleep(1000); // The work itself, or a pause.
  if (running !== null) await rm(join(jobFolder, running));
  running = null;
}
