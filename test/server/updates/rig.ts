// Servers of one instance, with an engine and an application that fail when a test requires it.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect } from 'vitest';
import type { EngineTimeouts } from '../../../src/engine/engine-calls.ts';
import type { InstanceOptions } from '../../../src/server/contract/instance-options.ts';
import type { CompleteUpdateRequest } from '../../../src/server/contract/instance-updates.ts';
import type { ServerTiming } from '../../../src/server/contract/timing.ts';
import { validateInstanceOptions } from '../../../src/server/contract/validate-options.ts';
import { createUpdateApi, type StartableUpdateApi } from '../../../src/server/create-update-api.ts';
import type { Run } from '../../../src/wire/status.ts';
import { type Forge, startForge } from '../../feed/forge.ts';
import type { ContainerDouble } from '../../rig/engine-double/container-double.ts';
import { EngineDouble } from '../../rig/engine-double/engine-double.ts';
import { goodRun } from '../../rig/engine-double/script.ts';
import type { ServerDouble, ServerOptions } from '../../rig/engine-double/server.ts';
import { HostDouble, HostState } from '../../rig/host-double/host-double.ts';

export const quick: ServerTiming = {
  // Longer than a response of the same process takes on a busy machine.
  host: 400,
  onEnd: 400,
  proof: 400,
  watch: 40,
  watchClosely: 20,
  prefetch: 20,
  automatic: 20,
  path: 20,
  jobs: 20,
  // Longer than a poll takes on a busy machine.
  known: 1_500,
  silence: 1_500,
  retry: 20,
  longestRetry: 100,
  check: 10_000,
  follow: 10,
  restart: 1_000,
  lastMoments: 300,
};

const allOf = (ms: number): EngineTimeouts => ({
  ...{ query: ms, registry: ms, work: ms, start: ms, pullSilence: ms, logSilence: ms },
});
/** Timeouts for tests with hanging requests; longer than a response takes on a busy machine. */
export const slowEngine = allOf(3_000);
/** Timeouts for requests that hang until the test releases them. */
export const patient = allOf(600_000);

export interface Server {
  updates: StartableUpdateApi;
  host: HostDouble;
  place: ServerDouble;
  /** Requests an update as an admin. */
  ask(order?: Partial<CompleteUpdateRequest>): ReturnType<StartableUpdateApi['start']>;
  /** The events that listeners received, in order. */
  told: string[];
  /** Ends the server without a shutdown. */
  die(): Promise<void>;
}

export class Rig {
  readonly engine: EngineDouble;
  readonly state = new HostState();
  readonly #servers: Server[] = [];
  readonly rejections: unknown[] = [];
  readonly #onRejection = (reason: unknown) => this.rejections.push(reason);

  private constructor(engine: EngineDouble) {
    this.engine = engine;
    this.state.watch(engine);
    process.setMaxListeners(0);
    process.on('unhandledRejection', this.#onRejection);
  }

  static async start(): Promise<Rig> {
    const rig = new Rig(await EngineDouble.start());
    rig.engine.images.add('acme/svc-updater:1');
    rig.engine.updaterDoes(goodRun('v1.4.2', 'v1.5.0'));
    return rig;
  }

  /** A server with its own container, or another server process in an existing container. */
  async server(
    where: ServerOptions | ServerDouble = {},
    more: Partial<InstanceOptions> & {
      timing?: Partial<ServerTiming>;
      patience?: Partial<EngineTimeouts>;
    } = {},
  ): Promise<Server> {
    const place = 'door' in where ? where : await this.engine.addServer(where);
    const host = new HostDouble({ name: `server ${this.#servers.length + 1}`, state: this.state });
    const { timing, patience, ...options } = more;
    const updates = createUpdateApi(
      validateInstanceOptions({
        version: 'v1.4.2',
        updaterImage: 'acme/svc-updater:1',
        updaterPull: 'missing',
        feed: null,
        authorize: host.authorize,
        queue: host.queue,
        store: host.store,
        engine: `unix://${place.socketPath}`,
        onEnd: host.onEnd,
        log: host.log,
        ...options,
      }),
      { timing: { ...quick, ...timing }, patience: { ...slowEngine, ...patience } },
    );
    const told: string[] = [];
    updates.listeners.on('start', ({ to }) => told.push(`start ${to}`));
    updates.listeners.on('end', ({ outcome }) => told.push(`end ${outcome}`));
    const server: Server = {
      updates,
      host,
      place,
      told,
      ask: (order = {}) =>
        updates.start({ target: 'v1.5.0', when: 'now', force: false, by: 'anna', ...order }),
      // Nothing that the server still tries has an effect.
      die: async () => {
        host.cutOff();
        await this.engine.down({ door: place.door });
        void updates.close();
      },
    };
    this.#servers.push(server);
    return server;
  }

  /** A server that has read the store and inspected the engine. */
  async booted(...how: Parameters<Rig['server']>): Promise<Server> {
    const one = await this.server(...how);
    await one.updates.boot();
    return one;
  }

  get updaters(): ContainerDouble[] {
    return this.engine.containers.filter((one) => this.engine.isUpdater(one));
  }

  /** Outcomes of the past runs in the store, newest first. */
  get outcomes() {
    return this.past.map(({ run }) => run.outcome);
  }

  /** The open run in the store. */
  get open(): { run: Run; updater: string | null } | null {
    const text = this.state.store.get('run');
    return text === undefined ? null : JSON.parse(text);
  }

  /** The past runs in the store, newest first. */
  get past(): { run: Run; told: boolean; attempts: number }[] {
    return JSON.parse(this.state.store.get('history') ?? '[]');
  }

  /** Results that any server has reported to the application. */
  get ends(): Run[] {
    return this.state.calls.flatMap(({ part, args, end }) =>
      part === 'onEnd' && end === 'done' ? [args[0] as Run] : [],
    );
  }

  async close(): Promise<void> {
    for (const { host } of this.#servers) host.recover();
    this.engine.clearFaults();
    await this.engine.up();
    await Promise.all(this.#servers.map(({ updates }) => updates.close()));
    await this.engine.close();
    await sleep(1);
    process.off('unhandledRejection', this.#onRejection);
  }
}

/** The rig of the running test, in a file that calls `freshRigs()`. */
export let rig: Rig;

/** Gives each test of a file its own rig, and checks afterwards that nothing forbidden has happened. */
export function freshRigs(): void {
  beforeEach(async () => {
    rig = await Rig.start();
  });
  afterEach(async () => {
    await rig.close();
    expect([...rig.state.violations, ...rig.rejections]).toEqual([]);
  });
}

/** The forge of the running test, in a file that calls `freshForges()` before `freshRigs()`. */
export let forge: Forge;

export function freshForges(): void {
  beforeEach(async () => {
    forge = await startForge();
  });
  afterEach(() => forge.close());
}

export const runOf = async ({ updates }: Server) => (await updates.findRunRecord())?.run;

/** Waits for a condition. The timeout is long, so that no test fails on a slow machine. */
export async function until(what: () => unknown, ms = 60_000): Promise<void> {
  for (const end = performance.now() + ms; !(await what()); ) {
    if (performance.now() > end) throw new Error(`it has not come to this: ${what}`);
    await sleep(5);
  }
}
