import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Outcome, outcomes } from '../../core/progress/outcome.ts';
import { UpdateError } from '../../core/progress/update-error.ts';
import { createConfig, findConfig, relabelConfig, removeConfig } from '../../engine/api/swarm.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { parseObject } from '../../engine/json.ts';
import type { SwarmConfig } from '../../engine/swarm.ts';
import type { Ending } from '../run/log/ending.ts';
import type { ServiceMove } from './specs.ts';

/** What a run of a stack is about, written once: what a later run, on whatever manager, goes on with. Holds values. */
export interface RecordData {
  format: 1;
  run: string;
  stack: string;
  /** What was asked for; null where floating tags were pulled again. */
  target: string | null;
  /** `v1.4.2`, `v1.5.0` */
  from: string;
  to: string;
  stopFirst: boolean;
  moves: readonly ServiceMove[];
  /** Ids of the tasks that there were. */
  tasks: readonly string[];
  files: readonly { path: string; before: string; after: string }[];
}

/**
 * The progress of a run.
 * `recreate`: service definitions may have been changed.
 * `back`: the run is rolling back.
 * `restore`: no new task is left, and no new task has started.
 */
const phases = ['pull', 'write', 'recreate', 'back', 'restore'] as const;
export type RecordPhase = (typeof phases)[number];

/** What changes of a record. */
export interface RecordState {
  run: string;
  /** The updater that has it: the id of its service, or of its container. */
  holder: string;
  /** Of the container, and its node: who looks from there can tell whether it still runs. */
  container: string;
  node: string;
  phase: RecordPhase;
  started: boolean;
  beat: number;
  outcome: Ending | null;
}

const prefix = 'svc-updater.';
const beatMs = 10_000;
/** A record that was not updated for this long has no active run. */
const deadMs = 45_000;
/** A holder that has not written for so long asks before it writes anything else. */
const staleMs = 30_000;
const lookMs = 1_000;
/** A Swarm takes 1,024,000 bytes. */
const maxBytes = 1_000_000;
const longestName = 64;

export function recordName(stack: string): string {
  const name = `${prefix}${stack}`;
  return name.length <= longestName ? name : `${name.slice(0, 48)}.${hash('sha256', stack).slice(0, 12)}`;
}

const writeLabels = (state: RecordState): Record<string, string> => ({
  [`${prefix}run`]: state.run,
  [`${prefix}holder`]: state.holder,
  [`${prefix}container`]: state.container,
  [`${prefix}node`]: state.node,
  [`${prefix}phase`]: state.phase,
  [`${prefix}started`]: state.started ? '1' : '0',
  [`${prefix}beat`]: String(state.beat),
  ...(state.outcome !== null && {
    [`${prefix}outcome`]: state.outcome.outcome,
    [`${prefix}exit`]: String(state.outcome.exitCode),
    [`${prefix}message`]: state.outcome.message,
  }),
});

function readLabels(labels: SwarmConfig['labels']): RecordState | null {
  const said = (key: string) => labels[`${prefix}${key}`] ?? '';
  const phase = phases.find((each) => each === said('phase'));
  if (phase === undefined || said('run') === '') return null;
  const outcome: Outcome | undefined = outcomes.find((each) => each === said('outcome'));
  return {
    run: said('run'),
    holder: said('holder'),
    container: said('container'),
    node: said('node'),
    phase,
    started: said('started') === '1',
    beat: Number(said('beat')),
    outcome: outcome ? { outcome, exitCode: Number(said('exit')), message: said('message') } : null,
  };
}

/** A record as it was read; `data` is null where it is of another updater, which wrote another format. */
export interface FoundRecord {
  config: SwarmConfig;
  state: RecordState | null;
  data: RecordData | null;
}

/** @throws UpdateError engine-unavailable */
export async function readRecord(engine: Engine, stack: string): Promise<FoundRecord | null> {
  const config = await findConfig(engine, recordName(stack));
  if (config === null) return null;
  const data = parseObject(config.data);
  const isOurs = data?.format === 1 && data.stack === stack && Array.isArray(data.moves);
  return { config, state: readLabels(config.labels), data: isOurs ? (data as unknown as RecordData) : null };
}

/** Who this run is. */
export interface RecordHolder {
  holder: string;
  container: string;
  node: string;
}

/** The lock of a stack and the journal of its run. It beats until it is released. */
export class StackRecord {
  readonly data: RecordData;
  #config: SwarmConfig;
  #state: RecordState;
  readonly #engine: Engine;
  /** Writes come one after the other. */
  #queue: Promise<unknown> = Promise.resolve();
  #writtenAt = performance.now();
  #lost: UpdateError | null = null;
  #timer: NodeJS.Timeout | undefined;

  private constructor(engine: Engine, config: SwarmConfig, data: RecordData, state: RecordState) {
    this.#engine = engine;
    this.#config = config;
    this.data = data;
    this.#state = state;
    this.#timer = setInterval(() => void this.note({}).catch(() => {}), beatMs);
    this.#timer.unref();
  }

  get state(): Readonly<RecordState> {
    return this.#state;
  }

  /**
   * Makes it, in place of one that has ended.
   * @throws UpdateError update-running where another run was faster; stack-unsupported where it is too large
   */
  static async make(
    engine: Engine,
    data: RecordData,
    who: RecordHolder,
    ended: FoundRecord | null,
  ): Promise<StackRecord> {
    const text = JSON.stringify(data);
    const size = Buffer.byteLength(text);
    if (size > maxBytes) {
      throw new UpdateError(
        'stack-unsupported',
        `the update record of ${data.stack} needs ${size} bytes, but a Swarm config can hold only ${maxBytes} bytes`,
        { advice: "Update the stack's services manually." },
      );
    }
    const state: RecordState = {
      ...{ ...who, run: data.run, phase: 'pull', started: false, beat: 0, outcome: null },
    };
    const name = recordName(data.stack);
    if (ended !== null) await removeConfig(engine, ended.config);
    const made = await createConfig(engine, { name, labels: writeLabels(state), data: text });
    const found = await readRecord(engine, data.stack);
    // Where an election swallowed the answer, it is there all the same.
    if (!isOf(found, state)) throw isHeld(found, made === 'taken');
    return new StackRecord(engine, found.config, data, state);
  }

  /** Takes over what another run has left. @throws UpdateError update-running where it is not dead, or somebody was faster */
  static async takeOver(
    engine: Engine,
    found: FoundRecord & { state: RecordState; data: RecordData },
    who: RecordHolder,
  ): Promise<StackRecord> {
    const state: RecordState = { ...found.state, ...who, beat: found.state.beat + 1, outcome: null };
    const record = new StackRecord(engine, found.config, found.data, state);
    await record.note({}).catch((error) => {
      record.release();
      throw error;
    });
    return record;
  }

  /** Writes what has changed; it is a beat as well. @throws UpdateError update-running where another run has taken it over */
  note(change: Partial<Pick<RecordState, 'phase' | 'started' | 'outcome'>>): Promise<void> {
    const next = this.#queue.then(() => this.#write(change));
    this.#queue = next.catch(() => {});
    return next;
  }

  async #write(change: Partial<RecordState>): Promise<void> {
    this.check();
    const state = { ...this.#state, ...change, beat: this.#state.beat + 1 };
    for (;;) {
      const done = await relabelConfig(this.#engine, this.#config, writeLabels(state));
      const found = await readRecord(this.#engine, this.data.stack);
      if (!isOf(found, state, this.#config)) throw this.#lose(found);
      this.#config = found.config;
      if (done === 'moved' && found.state?.beat !== state.beat) continue;
      this.#state = state;
      this.#writtenAt = performance.now();
      return;
    }
  }

  #lose(found: FoundRecord | null): UpdateError {
    this.release();
    this.#lost ??= isHeld(found, true);
    return this.#lost;
  }

  /**
   * Right before a write to a service: whether the record is this run's still. A run that was stopped for a while finds
   * out here. @throws UpdateError update-running
   */
  async confirm(): Promise<void> {
    this.check();
    if (performance.now() - this.#writtenAt > staleMs) await this.note({});
    for (;;) {
      const askedAt = performance.now();
      const found = await readRecord(this.#engine, this.data.stack);
      if (!isOf(found, this.#state, this.#config)) throw this.#lose(found);
      // An answer that comes late says what was.
      if (performance.now() - askedAt < beatMs) return;
    }
  }

  /** @throws UpdateError update-running where it was found out that another run has it */
  check(): void {
    if (this.#lost !== null) throw this.#lost;
  }

  release(): void {
    clearInterval(this.#timer);
  }
}

/** Whether a record is that of a run and of the container that leads it; and that very config, where one is given. */
const isOf = (
  found: FoundRecord | null,
  { run, container }: Pick<RecordState, 'run' | 'container'>,
  config: Pick<SwarmConfig, 'id'> | null = null,
): found is FoundRecord =>
  found !== null &&
  (config === null || found.config.id === config.id) &&
  found.state?.run === run &&
  found.state.container === container;

const isHeld = (found: FoundRecord | null, isOthers: boolean): UpdateError =>
  new UpdateError(
    'update-running',
    found?.state && isOthers
      ? `another update of this stack is in progress in container ${found.state.container.slice(0, 12)} (run ${found.state.run})`
      : `the update record of this run, a Swarm config, was removed`,
    { advice: 'Wait until no other update is running, then run {command} again.', state: stepsAside },
  );

const stepsAside = 'this run will make no further changes';

/**
 * Waits until the record's holder has shown that it lives, or has been silent for long enough; gives it as it is then,
 * null where it is gone. @throws UpdateError update-running where it lives
 */
export async function awaitDeath(engine: Engine, found: FoundRecord): Promise<FoundRecord | null> {
  const stack = found.data?.stack ?? '';
  const { version } = found.config;
  for (const endsAt = performance.now() + deadMs; performance.now() < endsAt; await sleep(lookMs)) {
    const now = await readRecord(engine, stack);
    if (now === null) return null;
    if (now.config.id === found.config.id && now.config.version === version) continue;
    if (now.state?.outcome) return now;
    throw isHeld(now, true);
  }
  return found;
}
