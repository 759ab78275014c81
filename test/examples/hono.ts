// The same with Hono. Here only the jobs are on the disk: the hold is in memory, and taken anew by `updates.start()`.
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createInstanceUpdates, fileStore, type Job } from 'svc-updater/instance';

const { VERSION = 'v1.4.2', ADMIN_TOKEN, DATA = '/data', PORT = '8080' } = process.env;
const { FEED = 'https://api.github.com/repos/acme/svc/releases' } = process.env;
if (!ADMIN_TOKEN) throw new Error('ADMIN_TOKEN is not set');
const jobFolder = join(DATA, 'jobs');
await mkdir(jobFolder, { recursive: true });

/** Whole or not at all: written beside its place, then renamed. */
async function store(file: string, text: string): Promise<void> {
  const unfinished = join(DATA, `${randomUUID()}.new`);
  await writeFile(unfinished, text, { flush: true });
  await rename(unfinished, file);
}

let held = false;
let running: string | null = null;

const updates = createInstanceUpdates({
  version: VERSION,
  updaterImage: 'ghcr.io/acme/svc-updater:1.0.0',
  feed: { url: FEED },
  authorize({ headers }) {
    const bearer = headers.get('authorization')?.replace(/^Bearer /, '');
    const cookie = /(?:^|; )session=([^;]+)/.exec(headers.get('cookie') ?? '')?.[1];
    const hash = (text: string) => createHash('sha256').update(text).digest();
    return timingSafeEqual(hash(bearer ?? cookie ?? ''), hash(ADMIN_TOKEN)) ? 'admin' : null;
  },
  queue: {
    hold() {
      held = true;
    },
    resume() {
      held = false;
    },
    async jobs() {
      // A file a job: `<when>-<id>.<kind>`.
      return (await readdir(jobFolder)).map((name) => ({
        kind: name.split('.')[1] as Job['kind'],
        state: name === running ? 'running' : 'queued',
      }));
    },
  },
  store: fileStore(join(DATA, 'updates')),
});

const app = new Hono();
// Their own path and everything below it.
app.all('/api/v1/instance/update/*', (c) => updates.handle(c.req.raw));
app.post('/backups', async (c) => {
  await store(join(jobFolder, `${Date.now()}-${randomUUID()}.backup`), '');
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
  running = held ? null : next;
  await sleep(1000); // The work itself, or a pause.
  if (running !== null) await rm(join(jobFolder, running));
  running = null;
}
