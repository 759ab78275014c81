import { randomBytes } from 'node:crypto';
import type { ContainerSpec } from '../../../src/engine/api-objects.ts';
import { onSignal, play, type Script } from './script.ts';

export interface LogEntry {
  text: string;
  /** 1 is the standard output, 2 the error output. */
  output: 1 | 2;
}

export interface ContainerOptions {
  spec: ContainerSpec;
  imageId: string;
  /** Mounts of the container, if it has more than its spec lists. */
  mounts?: readonly { Source: string; Destination: string; RW: boolean }[];
  /** The script of each start; after the last one, the test controls the container. */
  scripts?: readonly Script[];
  /** The pause before the first restart; it is doubled for each further restart. */
  restartPauseMs?: number;
  /** Called when the container is removed. */
  onGone(container: ContainerDouble): void;
  /** Called at each start, including restarts. */
  onBegin?(container: ContainerDouble): void;
}

const never = '0001-01-01T00:00:00Z';
/** The engine's pause. */
const usualPauseMs = 100;

/** A container without a process: a script, or the test, determines its output and exit. */
export class ContainerDouble {
  readonly id = randomBytes(32).toString('hex');
  readonly createdAt = nanoseconds();
  readonly spec: ContainerSpec;
  readonly imageId: string;
  readonly mounts: readonly { Source: string; Destination: string; RW: boolean }[];
  readonly log: LogEntry[] = [];
  /** Archives unpacked in the container, with its status at that moment. */
  readonly archives: { folder: string; body: string; status: string }[] = [];
  name: string;
  status: 'created' | 'running' | 'restarting' | 'exited' = 'created';
  exitCode = 0;
  restartCount = 0;
  startedAt = never;
  finishedAt = never;
  isGone = false;
  /** The effect of a signal on the process. */
  onSignal: (container: ContainerDouble, signal: string) => void = onSignal;
  readonly #options: ContainerOptions;
  readonly #followers = new Set<(entry: LogEntry | null) => void>();
  #starts = 0;
  /** Changes with every start and exit, so that a script detects its end. */
  #life = 0;
  #isToStop = false;
  #waiting: NodeJS.Timeout | undefined;

  constructor(options: ContainerOptions) {
    this.#options = options;
    this.name = options.spec.name;
    this.spec = options.spec;
    this.imageId = options.imageId;
    this.mounts = options.mounts ?? [];
  }

  get isRunning(): boolean {
    return this.status === 'running';
  }

  /** Running, or waiting for a restart. */
  get isUp(): boolean {
    return this.status === 'running' || this.status === 'restarting';
  }

  /** Starts it, like an operator or the library. */
  start(): void {
    this.restartCount = 0;
    this.#begin();
  }

  /** Writes one line, or any text that the process writes at once. */
  say(line: string, output: 1 | 2 = 1): void {
    if (!this.isRunning) throw new Error(`${this.name} is ${this.status} and cannot say anything`);
    // The engine stores a message for every line.
    for (const text of line.replace(/\n?$/, '\n').match(/[^\n]*\n/g) ?? []) {
      const entry = { text, output };
      this.log.push(entry);
      for (const follow of this.#followers) follow(entry);
    }
  }

  /** Exits the process; the engine may restart it by its policy. */
  exit(code: number): void {
    if (!this.isRunning) throw new Error(`${this.name} is ${this.status} and cannot end`);
    this.#life += 1;
    this.exitCode = code;
    this.finishedAt = nanoseconds();
    const { Name, MaximumRetryCount = 0 } = Object(this.spec.HostConfig?.RestartPolicy);
    const again = Name === 'on-failure' && code !== 0 && this.restartCount < MaximumRetryCount;
    this.status = again && !this.#isToStop ? 'restarting' : 'exited';
    this.#tellEnd();
    if (this.status === 'exited') return;
    const pauseMs = (this.#options.restartPauseMs ?? usualPauseMs) * 2 ** this.restartCount;
    this.restartCount += 1;
    this.#waiting = setTimeout(() => this.#begin(), pauseMs);
  }

  /** Like `docker kill` and `docker stop`: the engine does not restart the container. */
  kill(signal: string): void {
    this.#isToStop = true;
    if (this.status === 'restarting') {
      clearTimeout(this.#waiting);
      this.status = 'exited';
    } else if (signal === 'SIGKILL') this.exit(137);
    else this.onSignal(this, signal);
  }

  /** Another process removes the container, with its log. */
  vanish(): void {
    this.#life += 1;
    clearTimeout(this.#waiting);
    this.isGone = true;
    this.status = 'exited';
    this.#tellEnd();
    this.#options.onGone(this);
  }

  /** Reports existing and future log entries; null is the end. There are no future entries if it is not running. */
  follow(tell: (entry: LogEntry | null) => void): () => void {
    for (const entry of this.log) tell(entry);
    if (this.isRunning) this.#followers.add(tell);
    else tell(null);
    return () => void this.#followers.delete(tell);
  }

  /** Whether the container is still in that life: it has not exited or started since. */
  isInLife(life: number): boolean {
    return life === this.#life;
  }

  #begin(): void {
    const life = ++this.#life;
    this.#isToStop = false;
    this.status = 'running';
    this.exitCode = 0;
    this.startedAt = nanoseconds();
    const script = this.#options.scripts?.[this.#starts];
    this.#starts += 1;
    this.#options.onBegin?.(this);
    if (script) void play(script, this, () => this.isInLife(life));
  }

  #tellEnd(): void {
    const followers = [...this.#followers];
    this.#followers.clear();
    for (const follow of followers) follow(null);
  }
}

/** As the engine writes times. */
function nanoseconds(): string {
  return new Date().toISOString().replace('Z', '838841Z');
}
