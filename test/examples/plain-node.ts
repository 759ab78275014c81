// A self-updating server on plain Node. VERSION and ADMIN_TOKEN are set in the environment; DATA is on a mount.
import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createInstanceUpdates, fileStore, type Job, toNodeHandler } from 'svc-updater/instance';

const { VERSION = 'v1.4.2', ADMIN_TOKEN, DATA = '/data', PORT = '8080', FEED } = process.env;
if (!ADMIN_TOKEN) throw new Error('ADMIN_TOKEN is not set');
const secret = hash('sha256', `Bearer ${ADMIN_TOKEN}`);

// Runs one job at a time. A real server stores its jobs and the hold in a database.
const jobs: Job[] = [];
const holds = new Set<string>();

const updates = createInstanceUpdates({
  version: VERSION,
  updaterImage: 'ghcr.io/acme/svc-updater:1.0.0',
  feed: { url: FEED ?? 'https://api.github.com/repos/acme/svc/releases' },
  authorize: ({ headers }) =>
    hash('sha256', headers.get('authorization') ?? '') === secret ? 'admin' : null,
  queue: { hold: () => void holds.add('us'), resume: () => void holds.delete('us'), jobs: () => jobs },
  store: fileStore(`${DATA}/updates`),
});
const handle = toNodeHandler(updates);
const server = createServer((request, response) =>
  handle(request, response, () => {
    if (request.method === 'POST') jobs.push({ kind: 'backup', state: 'queued' });
    response.end(`svc ${VERSION}\n`);
  }),
);
server.listen(Number(PORT), () => console.log('listening', server.address()));
process.on('SIGTERM', () => updates.close().finally(() => process.exit()));

// Before any job starts: after a restart during an update, the queue stays held until the update has finished.
await updates.start();
for (;;) {
  if (holds.size === 0 && jobs[0]) jobs[0].state = 'running';
  await sleep(1000); // Do the work, or wait.
  if (jobs[0]?.state === 'running') jobs.shift();
}
