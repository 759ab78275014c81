// An application for the library, each of whose functions can be made to fail at a chosen moment. Servers of one
// instance share its state and have separate hosts, so that one can fail while another works.

import type { EngineDouble } from '../engine-double/engine-double.ts';
import { type Call, CallRecorder, type Failure, type FailureHandle, type Part } from './call-recorder.ts';

/** In the library's form; kinds and states may be unknown to it. */
export interface JobDouble {
  kind: string;
  state: string;
  since?: Date;
  title?: string;
  stuck?: boolean;
}

/** The state shared by all servers of an instance. */
export class HostState {
  isHeld = false;
  readonly jobs: JobDouble[] = [];
  readonly store = new Map<string, string>();
  /** Descriptions of forbidden events; tests expect none. */
  readonly violations: string[] = [];
  /** All calls of all servers, in order. */
  readonly calls: Call[] = [];
  /** Set if the test forces an update. */
  mayCutJobs = false;
  #engine: EngineDouble | null = null;

  /** Starts a job if the queue allows it. */
  startJob(kind: string, more: Omit<JobDouble, 'kind' | 'state'> = {}): JobDouble | null {
    if (this.isHeld) return null;
    const job = { kind, state: 'running', since: new Date(), ...more };
    this.jobs.push(job);
    return job;
  }

  endJob(job: JobDouble): void {
    this.jobs.splice(this.jobs.indexOf(job), 1);
  }

  /** Watches updaters: none may start while the queue is not held, or while a job is running. */
  watch(engine: EngineDouble): void {
    this.#engine = engine;
    engine.onStart((container) => {
      if (!engine.isUpdater(container)) return;
      const again = container.restartCount > 0 ? ' again' : '';
      if (!this.isHeld) this.violations.push(`${container.name} began${again} while the queue was not held`);
      const running = this.jobs.filter(({ state }) => state === 'running');
      // The engine restarts an updater without asking the library, so that jobs may be running.
      if (again === '' && running.length > 0 && !this.mayCutJobs) {
        this.violations.push(
          `${container.name} began while ${running.map(({ kind }) => kind).join(', ')} ran`,
        );
      }
    });
  }

  hold(): void {
    this.isHeld = true;
  }

  resume(): void {
    const running =
      this.#engine?.containers.filter((each) => each.isUp && this.#engine?.isUpdater(each)) ?? [];
    for (const { name, status } of running) {
      if (this.isHeld) this.violations.push(`the queue was resumed while ${name} was ${status}`);
    }
    this.isHeld = false;
  }

  /** Compare and set. Returns whether the value was as expected, and is now set. */
  set(key: string, text: string | null, was: string | null): boolean {
    if ((this.store.get(key) ?? null) !== was) return false;
    if (text === null) this.store.delete(key);
    else this.store.set(key, text);
    return true;
  }
}

export interface HostOptions {
  /** The name of the server in the calls. */
  name?: string;
  state?: HostState;
}

export class HostDouble {
  readonly state: HostState;
  readonly #record: CallRecorder;

  constructor({ name = 'one', state = new HostState() }: HostOptions = {}) {
    this.state = state;
    this.#record = new CallRecorder(name, state.calls);
  }

  /** Makes a function fail at a future call. */
  fail(part: Part, failure: Failure): FailureHandle {
    return this.#record.fail(part, failure);
  }

  /** Ends all failures; hanging calls continue. */
  recover(): void {
    this.#record.recover();
  }

  /** Its server no longer exists: later calls are ignored. */
  cutOff(): void {
    this.#record.cutOff();
  }

  /** The calls of this server, optionally of one function. */
  calls(part?: Part): Call[] {
    const own = this.state.calls.filter(({ server }) => server === this.#record.server);
    return part === undefined ? own : own.filter((call) => call.part === part);
  }

  readonly queue = {
    hold: () => this.#record.call('hold', [], () => this.state.hold()),
    resume: () => this.#record.call('resume', [], () => this.state.resume()),
    // biome-ignore lint/suspicious/noExplicitAny: the library's own kinds and others
    jobs: (): any => this.#record.call('jobs', [], () => structuredClone(this.state.jobs)),
  };

  readonly store = {
    get: (key: string) => this.#record.call('get', [key], () => this.state.store.get(key) ?? null),
    set: (key: string, text: string | null, { was }: { was: string | null }) =>
      this.#record.call('set', [key, text, was], () => this.state.set(key, text, was)),
  };

  readonly authorize = () => 'admin' as const;

  // biome-ignore lint/suspicious/noExplicitAny: a promise, where the library awaits nothing
  readonly onEnd = (run: unknown): any => this.#record.call('onEnd', [run], () => undefined);

  /** Messages of the library to the operator. */
  readonly logged: { level: string; message: string; cause?: unknown }[] = [];
  readonly log = (entry: { level: string; message: string; cause?: unknown }): void => {
    this.logged.push(entry);
  };
}
