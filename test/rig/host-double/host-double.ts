// A platform for the library, of which each function can be made to fail at a moment of the test's choice. Several
// servers of one instance share its state and have a host of their own, so that one can fail where the other does not.

import type { EngineDouble } from '../engine-double/engine-double.ts';
import { type Call, CallRecorder, type Failure, type FailureHandle, type Part } from './call-recorder.ts';

/** As the library takes them; kinds and states that it does not know may come, too. */
export interface JobDouble {
  kind: string;
  state: string;
  since?: Date;
  title?: string;
  stuck?: boolean;
}

/** What all servers of an instance see. */
export class HostState {
  isHeld = false;
  readonly jobs: JobDouble[] = [];
  readonly store = new Map<string, string>();
  /** What must never happen, in words; a test expects none. */
  readonly violations: string[] = [];
  /** Every call of every server, in the order in which they came. */
  readonly calls: Call[] = [];
  /** Where the test asks for an update by force. */
  mayCutJobs = false;
  #engine: EngineDouble | null = null;

  /** Whether the queue lets it start. */
  startJob(kind: string, more: Omit<JobDouble, 'kind' | 'state'> = {}): JobDouble | null {
    if (this.isHeld) return null;
    const job = { kind, state: 'running', since: new Date(), ...more };
    this.jobs.push(job);
    return job;
  }

  endJob(job: JobDouble): void {
    this.jobs.splice(this.jobs.indexOf(job), 1);
  }

  /** Looks on while updaters run: none may begin while the queue is not held, or while a job runs. */
  watch(engine: EngineDouble): void {
    this.#engine = engine;
    engine.onStart((container) => {
      if (!engine.isUpdater(container)) return;
      const again = container.restartCount > 0 ? ' again' : '';
      if (!this.isHeld) this.violations.push(`${container.name} began${again} while the queue was not held`);
      const running = this.jobs.filter(({ state }) => state === 'running');
      // One that the engine starts again has nobody to ask.
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

  /** Compare and set: whether it was so, and is now as it was to be. */
  set(key: string, text: string | null, was: string | null): boolean {
    if ((this.store.get(key) ?? null) !== was) return false;
    if (text === null) this.store.delete(key);
    else this.store.set(key, text);
    return true;
  }
}

export interface HostOptions {
  /** Of the server, in the calls. */
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

  /** Makes a function fail at its nth call from here on. */
  fail(part: Part, failure: Failure): FailureHandle {
    return this.#record.fail(part, failure);
  }

  /** Every failure is over, and what hangs goes on. */
  recover(): void {
    this.#record.recover();
  }

  /** Its server is gone: what that still asks is not heard. */
  cutOff(): void {
    this.#record.cutOff();
  }

  /** Its own calls, by name where one is given. */
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

  /** What the library has told the operator. */
  readonly logged: { level: string; message: string; cause?: unknown }[] = [];
  readonly log = (entry: { level: string; message: string; cause?: unknown }): void => {
    this.logged.push(entry);
  };
}
