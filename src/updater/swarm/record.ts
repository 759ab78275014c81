import { hash } from 'node:crypto';
import * as z from 'zod/mini';
import { jsonText, mistakeIn, otherFormat } from '../../core/progress/json-text.ts';
import { UpdateError } from '../../core/progress/update-error.ts';
import { waitUntil } from '../../core/progress/wait.ts';
import { createConfig, findConfig, relabelConfig, removeConfig } from '../../engine/api/swarm.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { SwarmConfig } from '../../engine/swarm.ts';
import type { Ending } from '../run/log/ending.ts';
import {
  checkTransition,
  endedState,
  type JournalState,
  type OpenState,
  openOf,
  phaseWord,
  runStateSchema,
} from '../run/state/run-state.ts';
import { stored } from '../run/state/stored-fields.ts';
import { storedMove, swarmId } from './specs.ts';

/**
 * What a run of a stack is about, written once: what a later run, on whatever manager, goes on with. Holds values. A field
 * that is added must be optional, as the records of earlier versions lack it.
 */
const recordDataSchema = z.strictObject({
  format: z.literal(2),
  run: stored.run,
  stack: stored.name,
  /** What was asked for; null where floating tags were pulled again. */
  target: z.nullable(z.string()),
  /** `v1.4.2`, `v1.5.0` */
  from: z.string(),
  to: z.string(),
  stopFirst: z.boolean(),
  moves: stored.list(storedMove),
  /** Ids of the tasks that there were. */
  tasks: stored.list(swarmId),
  files: stored.list(z.strictObject({ path: stored.path, before: stored.hash, after: stored.hash })),
});
export interface RecordData extends z.infer<typeof recordDataSchema> {}

const labelNumber = z.pipe(stored.like(/^\d+$/), z.transform(Number));

/** What changes of a record. */
const recordLabelsSchema = z.strictObject({
  run: stored.run,
  /** The updater that has it: the id of its service, or of its container. */
  holder: swarmId,
  /** Of the container, and its node: who looks from there can tell whether it still runs. */
  container: swarmId,
  node: z.string(),
  /** A new task has started. */
  started: z.pipe(
    z.enum(['0', '1']),
    z.transform((word) => word === '1'),
  ),
  beat: labelNumber,
  state: jsonText(runStateSchema),
});
interface RecordLabels extends z.infer<typeof recordLabelsSchema> {}

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

function writeLabels({ started, beat, state, ...who }: RecordLabels): Record<string, string> {
  const texts = { ...who, started: started ? '1' : '0', beat: String(beat), state: JSON.stringify(state) };
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [`${prefix}${key}`, text]));
}

function readLabels(labels: SwarmConfig['labels']) {
  const own = Object.entries(labels).filter(([key]) => key.startsWith(prefix));
  const texts = Object.fromEntries(own.map(([key, text]) => [key.slice(prefix.length), text]));
  return recordLabelsSchema.safeParse(texts);
}

/** A record as it was read. */
export interface FoundRecord {
  config: SwarmConfig;
  labels: RecordLabels;
  data: RecordData;
}

/** `mistake`: why it cannot be read, as another version wrote it or somebody has changed it: `moves.0.role is not valid`. */
type Look = FoundRecord | { config: SwarmConfig; mistake: string } | null;

/** @throws UpdateError engine-unavailable */
async function lookForRecord(engine: Engine, stack: string): Promise<Look> {
  const config = await findConfig(engine, recordName(stack));
  if (config === null) return null;
  const { data: labels, error } = readLabels(config.labels);
  if (error) return { config, mistake: `label ${prefix}${mistakeIn(error)}` };
  const found = jsonText(recordDataSchema).safeParse(config.data);
  if (found.error) return { config, mistake: mistakeIn(found.error) };
  const { data } = found;
  return data.stack === stack ? { config, labels, data } : { config, mistake: `stack is not ${stack}` };
}

/** @throws UpdateError engine-unavailable; stack-busy where it cannot be read */
export async function readRecord(engine: Engine, stack: string): Promise<FoundRecord | null> {
  const found = await lookForRecord(engine, stack);
  if (found === null || 'labels' in found) return found;
  const { config, mistake } = found;
  const message = `the config ${config.name} is the record of another update, which this updater version cannot read (${mistake})`;
  const advice = `${otherFormat(config.data, 2) ? 'Finish that update with the version of the updater that started it' : 'Make sure that no updater is running'}, remove the config (docker config rm ${config.name}), then run {command} again.`;
  throw new UpdateError('stack-busy', message, { advice });
}

/** A later run completes it, and starts over. */
export const rollingBack: OpenState = { at: 'rolling-back', from: 'replacing', ending: null };

/** How far a run has come, for the log: `pull`, `recreate`, `back`. */
export const phaseOf = ({ state }: Pick<RecordLabels, 'state'>): string =>
  openOf(state)?.at === 'rolling-back' ? 'back' : phaseWord(state);

/** Who a run is. */
export type RecordHolder = Pick<RecordLabels, 'holder' | 'container' | 'node'>;

/** The lock of a stack and the journal of its run. It beats until it is released. */
export class StackRecord {
  readonly data: RecordData;
  #config: SwarmConfig;
  #labels: RecordLabels;
  readonly #engine: Engine;
  /** Writes come one after the other. */
  #queue: Promise<unknown> = Promise.resolve();
  #writtenAt = performance.now();
  #lost: UpdateError | null = null;
  #timer: NodeJS.Timeout | undefined;

  private constructor(engine: Engine, config: SwarmConfig, data: RecordData, labels: RecordLabels) {
    this.#engine = engine;
    this.#config = config;
    this.data = data;
    this.#labels = labels;
    this.#timer = setInterval(() => void this.note().catch(() => {}), beatMs);
    this.#timer.unref();
  }

  get state(): JournalState {
    return this.#labels.state;
  }

  get hasStarted(): boolean {
    return this.#labels.started;
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
      const message = `the update record of ${data.stack} needs ${size} bytes, but a Swarm config can hold only ${maxBytes} bytes`;
      const advice = "Update the stack's services manually.";
      throw new UpdateError('stack-unsupported', message, { advice });
    }
    const labels: RecordLabels = {
      ...{ ...who, run: data.run, started: false, beat: 0, state: { at: 'pulling' } },
    };
    const name = recordName(data.stack);
    if (ended !== null) await removeConfig(engine, ended.config);
    const made = await createConfig(engine, { name, labels: writeLabels(labels), data: text });
    const found = await lookForRecord(engine, data.stack);
    // Where an election swallowed the answer, it is there all the same.
    if (!isOf(found, labels)) throw isHeld(found, made === 'taken');
    return new StackRecord(engine, found.config, data, labels);
  }

  /**
   * Takes over what another run has left, and goes on from a state of it.
   * @throws UpdateError update-running where it is not dead, or somebody was faster
   */
  static async takeOver(
    engine: Engine,
    found: FoundRecord,
    who: RecordHolder,
    state: OpenState,
  ): Promise<StackRecord> {
    const labels: RecordLabels = { ...found.labels, ...who };
    const record = new StackRecord(engine, found.config, found.data, labels);
    await record.note({ state }).catch((error) => {
      record.release();
      throw error;
    });
    return record;
  }

  /** Writes what has changed; it is a beat as well. @throws UpdateError update-running where another run has taken it over */
  note(change: Partial<Pick<RecordLabels, 'state' | 'started'>> = {}): Promise<void> {
    const next = this.#queue.then(() => this.#write(change));
    this.#queue = next.catch(() => {});
    return next;
  }

  /** How its run has ended, and what that has left. */
  end(ending: Ending): Promise<void> {
    return this.note({ state: endedState(this.state, ending) });
  }

  async #write(change: Partial<RecordLabels>): Promise<void> {
    this.check();
    if (change.state) checkTransition(this.state, change.state);
    const labels = { ...this.#labels, ...change, beat: this.#labels.beat + 1 };
    for (;;) {
      const done = await relabelConfig(this.#engine, this.#config, writeLabels(labels));
      const found = await lookForRecord(this.#engine, this.data.stack);
      if (!isOf(found, labels, this.#config)) throw this.#lose(found);
      this.#config = found.config;
      if (done === 'moved' && found.labels.beat !== labels.beat) continue;
      this.#labels = labels;
      this.#writtenAt = performance.now();
      return;
    }
  }

  #lose(found: Look): UpdateError {
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
    if (performance.now() - this.#writtenAt > staleMs) await this.note();
    for (;;) {
      const askedAt = performance.now();
      const found = await lookForRecord(this.#engine, this.data.stack);
      if (!isOf(found, this.#labels, this.#config)) throw this.#lose(found);
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
  found: Look,
  { run, container }: Pick<RecordLabels, 'run' | 'container'>,
  config: Pick<SwarmConfig, 'id'> | null = null,
): found is FoundRecord =>
  found !== null &&
  'labels' in found &&
  (config === null || found.config.id === config.id) &&
  found.labels.run === run &&
  found.labels.container === container;

const isHeld = (found: Look, isOthers: boolean): UpdateError =>
  new UpdateError(
    'update-running',
    found !== null && 'labels' in found && isOthers
      ? `another update of this stack is in progress in container ${found.labels.container.slice(0, 12)} (run ${found.labels.run})`
      : `the update record of this run, a Swarm config, was removed`,
    { advice: 'Wait until no other update is running, then run {command} again.', state: stepsAside },
  );

const stepsAside = 'this run will make no further changes';

/**
 * Waits until the record's holder has shown that it lives, or has been silent for long enough; gives it as it is then,
 * null where it is gone. @throws UpdateError update-running where it lives; stack-busy where another cannot be read
 */
export async function awaitDeath(engine: Engine, found: FoundRecord): Promise<FoundRecord | null> {
  const { stack } = found.data;
  const { version } = found.config;
  const evaluate = (now: FoundRecord | null, isLate: boolean) => {
    if (now !== null && now.config.id === found.config.id && now.config.version === version)
      return isLate ? found : undefined;
    if (now === null || now.labels.state.at === 'ended') return now;
    throw isHeld(now, true);
  };
  const wait = { pause: lookMs, deadlineMs: deadMs, signal: engine.aborted };
  return waitUntil(() => readRecord(engine, stack), evaluate, wait);
}
