import { randomBytes } from 'node:crypto';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { AutomaticUpdateSettingsChange } from '../../../src/server/contract/automatic-update-settings.ts';
import type { Run, Status } from '../../../src/wire/status.ts';
import type { ComposeText } from '../compose-text.ts';
import { askEngine, engineSocket } from '../engine-api.ts';
import { freePort } from '../free-port.ts';
import { buildServerBase } from '../image.ts';
import { Instance, started } from '../instance.ts';
import type { InstanceOptions } from '../instance-options.ts';
import { push } from '../registry.ts';
import { type ReleaseOptions, releases } from '../releases.ts';
import type { TestHost } from '../test-host.ts';
import { updaterImage } from '../updater-run.ts';
import { serverCompose } from './compose.ts';
import type { JobRequest, StoredJob } from './job-queue.ts';

export const updatePath = '/api/v1/instance/update';

/** The address at which the app finds the releases written by `offer`. */
const ownFeed = 'http://127.0.0.1:8080/data/releases.json';

export interface ServerOptions extends Omit<InstanceOptions, 'text'> {
  /**
   * Replace the app's settings: UPDATER_IMAGE, UPDATER_WAIT, FEED_URL (empty: none; default: the releases of `offer`),
   * RESTORE_POINT, REGISTRY_CREDENTIALS, ENGINE, UPDATER_SOCKET.
   */
  settings?: Record<string, string>;
  /** Additional or different parts of its compose files. */
  compose?: Partial<ComposeText>;
}

/** An entry in a log of the servers: its writer, and its time. */
interface Noted {
  time: string;
  version: string;
  /** The beginning of its container's id. */
  server: string;
}

/** An entry in the log of `/test/holds`. */
export interface HoldEntry extends Noted {
  action: 'hold' | 'resume';
  /** The state before that call. */
  wasHeld: boolean;
}

/** An instance whose app is the real server with the library. */
export async function startServerInstance(
  host: TestHost,
  options: ServerOptions = {},
): Promise<ServerInstance> {
  await shareBase(host);
  const name = options.name ?? `${host.run}-${randomBytes(3).toString('hex')}`;
  return started(new ServerInstance(host, name, await freePort(), instanceOptions(name, options)));
}

function instanceOptions(name: string, options: ServerOptions): InstanceOptions {
  const { settings, env = '', compose, ...rest } = options;
  const values: Record<string, string> = {
    UPDATER_IMAGE: updaterImage,
    // Unique to the instance: other updaters on this engine are unaffected, and the container is removed with the
    // instance.
    UPDATER_NAME: `${name}-svc-updater`,
    FEED_URL: ownFeed,
    ...(engineSocket === '/var/run/docker.sock' ? {} : { SVC_SOCKET: engineSocket }),
    ...settings,
  };
  const lines = Object.entries(values).map(([key, value]) => `${key}=${value}\n`);
  return {
    ...rest,
    env: lines.join('') + env,
    text: { ...serverCompose, ...compose },
  };
}

const bases = new Map<string, Promise<void>>();

/** Lets the engine unpack Node once for the whole run; removed with the run's other traces. */
function shareBase(host: TestHost): Promise<void> {
  const running = bases.get(host.run) ?? shareBaseNow(host);
  bases.set(host.run, running);
  running.catch(() => bases.delete(host.run));
  return running;
}

async function shareBaseNow(host: TestHost): Promise<void> {
  await push(host.registry, `${host.run}/server`, '1', await buildServerBase());
  const reference = encodeURIComponent(`${host.registry}/${host.run}/server`);
  const { status, body } = await askEngine('POST', `/images/create?fromImage=${reference}&tag=1`);
  if (status !== 200 || body.includes('"error"')) throw new Error(`the server's base: ${status} ${body}`);
}

export class ServerInstance extends Instance {
  override publish(tag: string, options: ReleaseOptions = releases[tag] ?? {}): Promise<string> {
    return super.publish(tag, { server: true, ...options });
  }

  /** Sets the releases of the app's feed, which are seen at its next check. */
  async offer(...versions: string[]): Promise<void> {
    const feed = versions.map((version, at) => ({
      tag_name: version,
      html_url: `https://example.org/releases/${version}`,
      body: `What is new in ${version}`,
      draft: false,
      prerelease: version.includes('-'),
      published_at: new Date(Date.UTC(2026, 0, 1 + at)).toISOString(),
    }));
    await this.write('data/releases.json', JSON.stringify(feed));
  }

  /** Sets releases that each require the previous one. */
  async offerPath(...versions: string[]): Promise<void> {
    const releases = versions.map((version, at) => ({ version, requires: versions[at - 1] ?? null }));
    await this.write('data/releases.json', JSON.stringify({ releases }));
  }

  /**
   * The readiness of its servers after a step, by their version; servers that are not listed are ready for the next
   * step.
   */
  async afterStep(says: Record<string, string>): Promise<void> {
    await this.write('data/after-step.json', JSON.stringify(says));
  }

  /** Sends a request to the app, as the admin by default. */
  ask(path: string, init: RequestInit & { as?: 'admin' | 'anna' | 'user' | null } = {}): Promise<Response> {
    const { as = 'admin', ...rest } = init;
    const headers = new Headers(rest.headers);
    if (as !== null) headers.set('authorization', `Bearer ${as}-token`);
    const signal = rest.signal ?? AbortSignal.timeout(30_000);
    return fetch(`http://127.0.0.1:${this.port}${path}`, { ...rest, headers, signal });
  }

  /** The admin's status; `refresh` checks the releases now. */
  status({ refresh = false } = {}): Promise<Status> {
    return this.#json(refresh ? `${updatePath}?refresh=1` : updatePath);
  }

  /** The current run or the last one. */
  progress(): Promise<Run> {
    return this.#json(`${updatePath}/progress`);
  }

  /** Starts an update, and returns any response. */
  startUpdateOverHttp(
    target?: string,
    order: { when?: 'idle'; force?: boolean; allSteps?: boolean } = {},
  ): Promise<Response> {
    return this.ask(updatePath, { method: 'POST', ...json({ ...(target && { target }), ...order }) });
  }

  /** Changes settings of automatic updates; omitted settings are unchanged. */
  async setAutomatic(choice: AutomaticUpdateSettingsChange): Promise<Status> {
    return this.#json(`${updatePath}/automatic`, { method: 'PUT', ...json(choice) });
  }

  /** Requests the cancellation of the run, and returns any response. */
  cancelOverHttp(): Promise<Response> {
    return this.ask(`${updatePath}/progress`, { method: 'DELETE' });
  }

  history(): Promise<Run[]> {
    return this.#json(`${updatePath}/history`);
  }

  /** The events of one connection, until it ends, breaks or is aborted. */
  async *events(
    init: { lastEventId?: string; signal?: AbortSignal } = {},
  ): AsyncGenerator<EventSourceMessage, void> {
    const { lastEventId, signal = AbortSignal.timeout(180_000) } = init;
    const headers = new Headers({ accept: 'text/event-stream' });
    if (lastEventId !== undefined) headers.set('last-event-id', lastEventId);
    const answer = await this.ask(`${updatePath}/progress`, { headers, signal });
    if (!answer.ok || answer.body === null) {
      throw new Error(`no event stream: ${answer.status} ${await answer.text()}`);
    }
    const waiting: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (event) => waiting.push(event) });
    for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
      parser.feed(chunk);
      yield* waiting.splice(0);
    }
  }

  async addJob(job: JobRequest): Promise<StoredJob> {
    const answer = await this.ask('/test/jobs', { method: 'POST', ...json(job) });
    return (await answer.json()) as StoredJob;
  }

  jobs(): Promise<StoredJob[]> {
    return this.#json('/test/jobs');
  }

  async endJob(id: number): Promise<void> {
    await this.ask(`/test/jobs?id=${id}`, { method: 'DELETE' });
  }

  holds(): Promise<HoldEntry[]> {
    return this.#json('/test/holds');
  }

  /** Runs reported to `onEnd`, with the reported version. */
  ended(): Promise<(Noted & { run: Run })[]> {
    return this.#json('/test/ended');
  }

  /** Ids of runs whose result no server will report again, even if a server is killed. */
  recordedEnds(): Promise<string[]> {
    return this.#json('/test/recorded-ends');
  }

  async #json<T>(path: string, init: RequestInit = {}): Promise<T> {
    const answer = await this.ask(path, init);
    if (!answer.ok)
      throw new Error(`${init.method ?? 'GET'} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }
}

function json(body: object): RequestInit {
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}
