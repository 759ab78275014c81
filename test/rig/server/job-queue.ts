import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Job, JobQueue } from '../../../src/instance/contract/options.ts';

/** What a test asks for. */
export interface JobRequest {
  kind: Job['kind'];
  /** How long it runs. */
  milliseconds: number;
  /** `queued`: waits for something else and is never started. Default: started as soon as it is its turn. */
  state?: 'queued';
  title?: string;
  /** It says that it will not end by itself. */
  stuck?: boolean;
}

export interface StoredJob extends JobRequest {
  id: number;
  progress: 'queued' | 'running' | 'done';
  /** ISO 8601, like the two below. */
  queuedAt: string;
  started: string | null;
  ended: string | null;
  /** How often it was started: more than once where the server went away in the middle. */
  runs: number;
}

interface Stored {
  jobs: StoredJob[];
  held: boolean;
}

export interface QueueOptions {
  /** Where everything is kept. */
  file: string;
  /** Whether the hold outlives the process; the jobs do in any case. */
  keepsHold: boolean;
  /** Told of every call, whether it changes anything or not. */
  onHold(action: 'hold' | 'resume', wasHeld: boolean): void;
}

/** The app's queue: on the disk after every change, one job at a time, in the order in which they came. */
export class FileQueue implements JobQueue {
  readonly #options: QueueOptions;
  readonly #stored: Stored;
  #started = false;

  constructor(options: QueueOptions) {
    this.#options = options;
    const none: Stored = { jobs: [], held: false };
    const { file } = options;
    this.#stored = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : none;
    if (!options.keepsHold) this.#stored.held = false;
    // What ran when the process before this one went away is run again.
    for (const job of this.#stored.jobs) {
      if (job.progress === 'running') Object.assign(job, { progress: 'queued', started: null });
    }
  }

  get all(): readonly StoredJob[] {
    return this.#stored.jobs;
  }

  start(): void {
    this.#started = true;
    this.#next();
  }

  add(request: JobRequest): StoredJob {
    const job: StoredJob = {
      ...request,
      id: this.#stored.jobs.length + 1,
      progress: 'queued',
      queuedAt: now(),
      started: null,
      ended: null,
      runs: 0,
    };
    this.#stored.jobs.push(job);
    this.#save();
    this.#next();
    return job;
  }

  /** Takes away what waits for something else. */
  dropWaiting(): void {
    for (const job of this.#stored.jobs) {
      if (job.state === 'queued') Object.assign(job, { progress: 'done', ended: now() });
    }
    this.#save();
  }

  hold(): void {
    this.#options.onHold('hold', this.#stored.held);
    this.#stored.held = true;
    this.#save();
  }

  resume(): void {
    this.#options.onHold('resume', this.#stored.held);
    this.#stored.held = false;
    this.#save();
    this.#next();
  }

  jobs(): Job[] {
    return this.#stored.jobs.flatMap(({ kind, progress, started, queuedAt, title, stuck }): Job[] => {
      if (progress === 'done') return [];
      const more = { ...(title === undefined ? {} : { title }), ...(stuck === undefined ? {} : { stuck }) };
      return [{ kind, state: progress, since: new Date(started ?? queuedAt), ...more }];
    });
  }

  #next(): void {
    const { jobs, held } = this.#stored;
    if (!this.#started || held || jobs.some(({ progress }) => progress === 'running')) return;
    const job = jobs.find(({ progress, state }) => progress === 'queued' && state !== 'queued');
    if (job === undefined) return;
    Object.assign(job, { progress: 'running', started: now(), runs: job.runs + 1 });
    this.#save();
    setTimeout(() => {
      Object.assign(job, { progress: 'done', ended: now() });
      this.#save();
      this.#next();
    }, job.milliseconds);
  }

  #save(): void {
    const { file } = this.#options;
    writeFileSync(`${file}.new`, JSON.stringify(this.#stored), { flush: true });
    renameSync(`${file}.new`, file);
  }
}

const now = () => new Date().toISOString();
