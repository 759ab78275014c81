// A server on plain Node that updates itself. VERSION and ADMIN_TOKEN come from the environment; DATA is on a mount.
import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createInstanceUpdates, fileStore, type Job, toNodeHandler } from 'svc-updater/instance';

const { VERSION = 'v1.4.2', ADMIN_TOKEN, DATA = '/data', PORT = '8080', FEED } = process.env;
if (!ADMIN_TOKEN) throw new Error('ADMIN_TOKEN is not set');
const secret = hash('sha256', `Bearer ${ADMIN_TOKEN}`);

// One job at a time, the first. A real server keeps them, and that they are held, in its database.
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

// First this: after a restart in the middle of an update, no job may start before the update has ended.
await updates.start();
for (;;) {
  if (holds.size === 0 && jobs[0]) jobs[0].state = 'running';
  await sleep(1000); // The work itself, or a pause.
  if (jobs[0]?.state === 'running') jobs.shift();
}
