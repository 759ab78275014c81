import { randomBytes } from 'node:crypto';
import type { ContainerSpec } from '../../../src/engine/api-objects.ts';
import { onSignal, play, type Script } from './script.ts';

export interface LogEntry {
  text: string;
  /** 1 is the standard output, 2 the one for errors. */
  output: 1 | 2;
}

export interface ContainerOptions {
  spec: ContainerSpec;
  imageId: string;
  /** What is mounted in it, where that is more than its spec says. */
  mounts?: readonly { Source: string; Destination: string; RW: boolean }[];
  /** For its nth start; one that is started more often is led by hand. */
  scripts?: readonly Script[];
  /** Before the engine starts one again; then twice as long each time. */
  restartPauseMs?: number;
  /** Where it stands for good. */
  onGone(container: ContainerDouble): void;
  /** Told when it begins to run, also again. */
  onBegin?(container: ContainerDouble): void;
}

const never = '0001-01-01T00:00:00Z';
/** As the engine waits. */
const usualPauseMs = 100;

/** A container that runs nothing: a script says what it says and how it ends, or the test does. */
export class ContainerDouble {
  readonly id = randomBytes(32).toString('hex');
  readonly createdAt = nanoseconds();
  readonly spec: ContainerSpec;
  readonly imageId: string;
  readonly mounts: readonly { Source: string; Destination: string; RW: boolean }[];
  readonly log: LogEntry[] = [];
  /** Archives that were unpacked in it, with its status at that moment. */
  readonly archives: { folder: string; body: string; status: string }[] = [];
  name: string;
  status: 'created' | 'running' | 'restarting' | 'exited' = 'created';
  exitCode = 0;
  restartCount = 0;
  startedAt = never;
  finishedAt = never;
  isGone = false;
  /** What a signal does to what runs in it. */
  onSignal: (container: ContainerDouble, signal: string) => void = onSignal;
  readonly #options: ContainerOptions;
  readonly #followers = new Set<(entry: LogEntry | null) => void>();
  #starts = 0;
  /** Changes with every start and end, so that a script knows when it is over. */
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

  /** Running, or between two runs. */
  get isUp(): boolean {
    return this.status === 'running' || this.status === 'restarting';
  }

  /** As an operator or the library starts it. */
  start(): void {
    this.restartCount = 0;
    this.#begin();
  }

  /** One line, or what else the process has written at once. */
  say(line: string, output: 1 | 2 = 1): void {
    if (!this.isRunning) throw new Error(`${this.name} is ${this.status} and cannot say anything`);
    // The engine keeps a message for every line.
    for (const text of line.replace(/\n?$/, '\n').match(/[^\n]*\n/g) ?? []) {
      const entry = { text, output };
      this.log.push(entry);
      for (const follow of this.#followers) follow(entry);
    }
  }

  /** Its process ends; by its policy the engine may start it again. */
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

  /** As `docker kill` and `docker stop` do it; whoever does so does not want it to start again. */
  kill(signal: string): void {
    this.#isToStop = true;
    if (this.status === 'restarting') {
      clearTimeout(this.#waiting);
      this.status = 'exited';
    } else if (signal === 'SIGKILL') this.exit(137);
    else this.onSignal(this, signal);
  }

  /** Removed by somebody, and its log with it. */
  vanish(): void {
    this.#life += 1;
    clearTimeout(this.#waiting);
    this.isGone = true;
    this.status = 'exited';
    this.#tellEnd();
    this.#options.onGone(this);
  }

  /** Gives what is in the log and what comes; null is its end. Nothing comes where it does not run. */
  follow(tell: (entry: LogEntry | null) => void): () => void {
    for (const entry of this.log) tell(entry);
    if (this.isRunning) this.#followers.add(tell);
    else tell(null);
    return () => void this.#followers.delete(tell);
  }

  /** Resolves when this start of it is over, whatever ends it. */
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
