// A server on plain Node that updates itself. VERSION and ADMIN_TOKEN come from the environment.
import { createHash, timingSafeEqual } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { type Caller, createInstanceUpdates, fileStore, type Job, type JobQueue } from 'svc-updater/instance';

const { VERSION = 'v1.4.2', ADMIN_TOKEN, DATA = '/data', PORT = '8080' } = process.env;
const { FEED = 'https://api.github.com/repos/acme/svc/releases' } = process.env;
if (!ADMIN_TOKEN) throw new Error('ADMIN_TOKEN is not set');
mkdirSync(DATA, { recursive: true });

/** A value in a file that is always whole: written beside it, then renamed. */
function stored<T>(name: string, initial: T) {
  const file = join(DATA, name);
  return {
    read: (): T => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : initial),
    write(value: T): void {
      writeFileSync(`${file}.new`, JSON.stringify(value), { flush: true });
      renameSync(`${file}.new`, file);
    },
  };
}

/** One job at a time. What runs stays first in the list until it is done, so that a restart runs it again. */
class Queue implements JobQueue {
  readonly #file = stored<{ held: boolean; kinds: Job['kind'][] }>('queue.json', { held: false, kinds: [] });
  readonly #state = this.#file.read();
  #started = false;
  #busy = false;

  hold(): void {
    this.#state.held = true;
    this.#file.write(this.#state);
  }

  resume(): void {
    this.#state.held = false;
    this.#file.write(this.#state);
    void this.#work();
  }

  jobs(): Job[] {
    return this.#state.kinds.map((kind, at) => ({
      kind,
      state: this.#busy && at === 0 ? 'running' : 'queued',
    }));
  }

  add(kind: Job['kind']): void {
    this.#state.kinds.push(kind);
    this.#file.write(this.#state);
    void this.#work();
  }

  start(): void {
    this.#started = true;
    void this.#work();
  }

  async #work(): Promise<void> {
    if (!this.#started || this.#busy) return;
    this.#busy = true;
    while (!this.#state.held && this.#state.kinds.length > 0) {
      await sleep(1000); // The work itself.
      this.#state.kinds.shift();
      this.#file.write(this.#state);
    }
    this.#busy = false;
  }
}

function authorize({ headers }: Request): Caller {
  const bearer = headers.get('authorization')?.replace(/^Bearer /, '');
  const cookie = /(?:^|; )session=([^;]+)/.exec(headers.get('cookie') ?? '')?.[1];
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(bearer ?? cookie ?? ''), hash(ADMIN_TOKEN ?? '')) ? 'admin' : null;
}

const queue = new Queue();
const updates = createInstanceUpdates({
  version: VERSION,
  updaterImage: 'ghcr.io/acme/svc-updater:1.0.0',
  feed: { url: FEED },
  authorize,
  queue,
  store: fileStore(join(DATA, 'updates')),
  onEnd: ({ outcome, message }) => console.log(`update ${outcome}: ${message}`),
  log: ({ level, message, cause }) => console[level](message, cause ?? ''),
});

const server = createServer(
  getRequestListener((request) =>
    updates.matches(request) ? updates.handle(request) : new Response(`svc ${VERSION}\n`),
  ),
);
server.listen(Number(PORT), () => console.log('listening', server.address()));

process.on('SIGTERM', async () => {
  server.close();
  // Ends the event streams; a hold stays, and is the next server's.
  await updates.close();
  process.exit();
});

// First this: after a restart in the middle of an update, no job may start before the update has ended.
await updates.start();
queue.start();
