// The app of the test instance as a real server with the library: GET /version and /data/… as in the shell app, the
// update endpoints, and /test/… for the tests. Bundled into one file and run as process 1 of the container.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { join, normalize } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import {
  type Caller,
  createInstanceUpdates,
  fileStore,
  type InstanceOptions,
  toNodeHandler,
} from '../../../src/server/index.ts';
import { type JobRequest, SharedQueue } from './job-queue.ts';
import { readSettings } from './settings.ts';

const settings = readSettings(process.env);
const { version, data } = settings;

// Every start appends a line, so that a test can detect that a version never ran.
appendFileSync(join(data, 'boots'), `app ${version}\n`);
if (settings.fault === 'exit' || settings.fault === 'crash') {
  if (settings.fault === 'crash') await sleep(1000);
  console.error(settings.fault === 'exit' ? 'svc: cannot read the settings' : 'svc: lost the database');
  process.exit(1);
}
while (settings.migratesUntil !== null && !existsSync(settings.migratesUntil)) await sleep(50);

/**
 * Named callers; `admin` and `user` have no name. Defined first, because requests arrive before the whole module has
 * run.
 */
const people: Record<string, Caller> = { anna: { role: 'admin', name: 'anna' } };
const queue = new SharedQueue({
  file: join(data, 'queue.db'),
  onHold: (action, wasHeld) => note('holds', { action, wasHeld }),
});
const options: InstanceOptions = {
  version,
  updaterImage: settings.updaterImage,
  // Built on this machine and not in any registry.
  updaterPull: 'missing',
  containerName: settings.updaterName,
  feed: settings.feedUrl === null ? null : { url: settings.feedUrl },
  authorize: callerOf,
  queue,
  store: fileStore(join(data, 'updates')),
  restorePoint: settings.restorePoint,
  buildServers: () => known('build-servers.json', []),
  afterStep: () => known<Record<string, string>>('after-step.json', {})[version],
  onEnd: (run) => note('ended', { run }),
  log: ({ level, message, cause }) => console.log(level, message, ...(cause === undefined ? [] : [cause])),
};
if (settings.engine !== null) options.engine = settings.engine;
if (settings.updaterSocket !== null) options.updaterSocket = settings.updaterSocket;
if (settings.updaterWait !== null) {
  options.updaterEnvironment = { SVC_UPDATER_WAIT_TIMEOUT: settings.updaterWait };
}
if (settings.registryCredentials !== null) options.registryCredentials = settings.registryCredentials;

const updates = createInstanceUpdates(options);
const healthyFrom = Date.now() + settings.readyAfterSeconds * 1000;
const handle = toNodeHandler(updates);
const others = getRequestListener(answer);
const server = createServer((request, response) =>
  handle(request, response, () => void others(request, response)),
);
server.listen(8080, () => console.log(`svc ${version}: migrations run, listening on 8080`));
// Process 1 receives no signal without a handler.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
await updates.start();
queue.start();

async function stop(): Promise<void> {
  queue.close();
  await updates.close();
  process.exit(0);
}

function callerOf(request: Request): Caller {
  const bearer = /^Bearer (\w+)-token$/.exec(request.headers.get('authorization') ?? '')?.[1];
  const cookie = /(?:^|; *)session=(\w+)/.exec(request.headers.get('cookie') ?? '')?.[1];
  const name = bearer ?? cookie;
  if (name === 'admin' || name === 'user') return name;
  return name === undefined ? null : (people[name] ?? null);
}

async function answer(request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const what = `${request.method} ${pathname}`;
  switch (what) {
    case 'GET /version':
      if (settings.fault === 'unhealthy' || Date.now() < healthyFrom || known('unwell.json', '') === version)
        return new Response(null, { status: 503 });
      return new Response(`${version}\n`);
    case 'GET /test/jobs':
      return Response.json(queue.all);
    case 'POST /test/jobs':
      return Response.json(queue.add((await request.json()) as JobRequest), { status: 201 });
    case 'DELETE /test/jobs':
      queue.end(Number(searchParams.get('id')));
      return new Response(null, { status: 204 });
    case 'GET /test/holds':
      return Response.json(noted('holds'));
    case 'GET /test/ended':
      return Response.json(noted('ended'));
    case 'GET /test/recorded-ends':
      return Response.json(await recordedEnds());
    default:
      return what.startsWith('GET /data/') ? dataFile(pathname) : new Response(null, { status: 404 });
  }
}

/** Runs whose result is recorded as reported: no server reports it again. */
async function recordedEnds(): Promise<string[]> {
  const history = JSON.parse((await options.store.get('history')) ?? '[]') as {
    told: boolean;
    run: { id: string };
  }[];
  return history.filter(({ told }) => told).map(({ run }) => run.id);
}

function dataFile(path: string): Response {
  const file = join(data, normalize(decodeURIComponent(path.slice('/data/'.length))));
  if (!file.startsWith(`${data}/`) || !existsSync(file)) return new Response(null, { status: 404 });
  return new Response(readFileSync(file));
}

/** A value that a test has written to a file; `none` if there is none. */
function known<T>(file: string, none: T): T {
  const path = join(data, file);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as T) : none;
}

/** Appends a line to a log that outlives the process. */
function note(file: string, what: object): void {
  const line = JSON.stringify({ time: new Date().toISOString(), version, server: hostname(), ...what });
  appendFileSync(join(data, file), `${line}\n`);
}

function noted(file: string): unknown[] {
  const path = join(data, file);
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
