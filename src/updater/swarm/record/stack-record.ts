import { hash } from 'node:crypto';
import * as z from 'zod/mini';
import { waitUntil } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import {
  compareJsonFormat,
  createJsonTextSchema,
  describeSchemaMistake,
} from '../../../core/text/json-text.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import {
  createSwarmConfig,
  findSwarmConfig,
  removeSwarmConfig,
  updateSwarmConfigLabels,
} from '../../../engine/swarm/swarm-requests.ts';
import type { SwarmConfig } from '../../../engine/swarm/swarm-service.ts';
import type { RunOutcome } from '../../run/log/run-outcome.ts';
import {
  endedStateOf,
  loggedPhaseOf,
  requireTransition,
  type StoredRunState,
  storedRunStateSchema,
  type UnfinishedState,
  unfinishedStateOf,
} from '../../run/state/run-state.ts';
import { storedFieldSchemas } from '../../run/state/stored-fields.ts';
import { stackServiceUpdateSchema, swarmIdSchema } from '../services/specs.ts';

/**
 * Constant part of a stack update's record, with environment values of the services. A later run on any manager can
 * resume from the record. New fields must be optional, because earlier versions' records lack them.
 */
const recordDataSchema = z.strictObject({
  format: z.literal(2),
  run: storedFieldSchemas.run,
  stack: storedFieldSchemas.name,
  /** Requested target; null if floating tags were pulled again. */
  target: z.nullable(z.string()),
  /** Installed version, such as `v1.4.2`. `to` is the target version, such as `v1.5.0`. */
  from: z.string(),
  to: z.string(),
  stopFirst: z.boolean(),
  moves: storedFieldSchemas.list(stackServiceUpdateSchema),
  /** Ids of the tasks that existed before the update. */
  tasks: storedFieldSchemas.list(swarmIdSchema),
  files: storedFieldSchemas.list(
    z.strictObject({
      path: storedFieldSchemas.path,
      before: storedFieldSchemas.hash,
      after: storedFieldSchemas.hash,
    }),
  ),
});
export interface StackRecordData extends z.infer<typeof recordDataSchema> {}

const labelNumber = z.pipe(storedFieldSchemas.like(/^\d+$/), z.transform(Number));

/** Part of the record that changes during the run, stored in the config's labels. */
const recordLabelsSchema = z.strictObject({
  run: storedFieldSchemas.run,
  /** Id of the updater's Swarm service, or of its container if it has no service. */
  holder: swarmIdSchema,
  /** Id of the updater's container. An updater on the same node (`node`) can check the container's state. */
  container: swarmIdSchema,
  node: z.string(),
  /** Whether a new task has started. */
  started: z.pipe(
    z.enum(['0', '1']),
    z.transform((word) => word === '1'),
  ),
  beat: labelNumber,
  state: createJsonTextSchema(storedRunStateSchema),
});
interface RecordLabels extends z.infer<typeof recordLabelsSchema> {}

const prefix = 'svc-updater.';
const beatMs = 10_000;
/** A run is considered dead if it has not written its record for this time in ms. */
const deadMs = 45_000;
/**
 * Maximum age of the last write in ms. If it is older, the holder must write its record again before it changes a
 * service.
 */
const staleMs = 30_000;
const pollMs = 1_000;
/** Maximum size of a record in bytes, below Swarm's limit of 1,024,000 bytes for a config. */
const maxBytes = 1_000_000;
const longestName = 64;

export function stackRecordNameOf(stack: string): string {
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

/** Record as read from a Swarm config. */
export interface FoundStackRecord {
  config: SwarmConfig;
  labels: RecordLabels;
  data: StackRecordData;
}

/**
 * Null if there is no record. `mistake` tells why a record cannot be read, such as `moves.0.role is not valid`. In that
 * case, another version of the updater wrote the record, or a user changed it.
 */
type RecordLookupResult = FoundStackRecord | { config: SwarmConfig; mistake: string } | null;

async function findStackRecord(engine: Engine, stack: string): Promise<RecordLookupResult> {
  const config = await findSwarmConfig(engine, stackRecordNameOf(stack));
  if (config === null) return null;
  const { data: labels, error } = readLabels(config.labels);
  if (error) return { config, mistake: `label ${prefix}${describeSchemaMistake(error)}` };
  const found = createJsonTextSchema(recordDataSchema).safeParse(config.data);
  if (found.error) return { config, mistake: describeSchemaMistake(found.error) };
  const { data } = found;
  return data.stack === stack ? { config, labels, data } : { config, mistake: `stack is not ${stack}` };
}

/** Returns null if there is no record. @throws UpdateError stack-busy if the record cannot be read */
export async function readStackRecord(engine: Engine, stack: string): Promise<FoundStackRecord | null> {
  const found = await findStackRecord(engine, stack);
  if (found === null || 'labels' in found) return found;
  const { config, mistake } = found;
  const message = `the config ${config.name} contains the record of another update, but this version of the updater cannot read it (${mistake})`;
  const advice = `${compareJsonFormat(config.data, 2) ? 'Finish that update with the version of the updater that started it' : 'Make sure that no updater is running'}, remove the config (docker config rm ${config.name}), then run {command} again.`;
  throw new UpdateError('stack-busy', message, { advice });
}

/** If a run is killed in this state, a later run completes the rollback before its own update. */
export const stackRollbackState: UnfinishedState = { at: 'rolling-back', from: 'replacing', ending: null };

/** Returns the phase as named in the log, such as `pull` or `recreate`; `back` during a rollback. */
export const stackRunPhaseOf = ({ state }: Pick<RecordLabels, 'state'>): string =>
  unfinishedStateOf(state)?.at === 'rolling-back' ? 'back' : loggedPhaseOf(state);

/** Identity of the updater that holds a record. */
export type StackRecordHolder = Pick<RecordLabels, 'holder' | 'container' | 'node'>;

/** Record of a stack update: the stack's lock and the run's journal. Renewed periodically until it is released. */
export class StackRecord {
  readonly data: StackRecordData;
  #config: SwarmConfig;
  #labels: RecordLabels;
  readonly #engine: Engine;
  /** Last queued write. Each write waits for the preceding one. */
  #queue: Promise<unknown> = Promise.resolve();
  #writtenAt = performance.now();
  #lost: UpdateError | null = null;
  #timer: NodeJS.Timeout | undefined;

  private constructor(engine: Engine, config: SwarmConfig, data: StackRecordData, labels: RecordLabels) {
    this.#engine = engine;
    this.#config = config;
    this.data = data;
    this.#labels = labels;
    this.#timer = setInterval(() => void this.update().catch(() => {}), beatMs);
    this.#timer.unref();
  }

  get state(): StoredRunState {
    return this.#labels.state;
  }

  get hasStarted(): boolean {
    return this.#labels.started;
  }

  /**
   * Creates this run's record, which replaces the record of the previous run.
   * @throws UpdateError update-running if another run created its record first; stack-unsupported if the record is too
   * large
   */
  static async create(
    engine: Engine,
    data: StackRecordData,
    who: StackRecordHolder,
    ended: FoundStackRecord | null,
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
    const name = stackRecordNameOf(data.stack);
    if (ended !== null) await removeSwarmConfig(engine, ended.config);
    const made = await createSwarmConfig(engine, { name, labels: writeLabels(labels), data: text });
    const found = await findStackRecord(engine, data.stack);
    // Reads the record back, because a leader election may lose the response to a successful creation.
    if (!isRecordOf(found, labels)) throw createRecordLostError(found, made === 'taken');
    return new StackRecord(engine, found.config, data, labels);
  }

  /**
   * Takes over another run's record and continues from the given state.
   * @throws UpdateError update-running if the other run is active, or a third run took over the record first
   */
  static async takeOver(
    engine: Engine,
    found: FoundStackRecord,
    who: StackRecordHolder,
    state: UnfinishedState,
  ): Promise<StackRecord> {
    const labels: RecordLabels = { ...found.labels, ...who };
    const record = new StackRecord(engine, found.config, found.data, labels);
    await record.update({ state }).catch((error) => {
      record.release();
      throw error;
    });
    return record;
  }

  /**
   * Writes the changes to the record, which also renews it.
   * @throws UpdateError update-running if another run has taken over the record
   */
  update(change: Partial<Pick<RecordLabels, 'state' | 'started'>> = {}): Promise<void> {
    const next = this.#queue.then(() => this.#write(change));
    this.#queue = next.catch(() => {});
    return next;
  }

  recordOutcome(outcome: RunOutcome): Promise<void> {
    return this.update({ state: endedStateOf(this.state, outcome) });
  }

  async #write(change: Partial<RecordLabels>): Promise<void> {
    this.requireNotLost();
    if (change.state) requireTransition(this.state, change.state);
    const labels = { ...this.#labels, ...change, beat: this.#labels.beat + 1 };
    for (;;) {
      const done = await updateSwarmConfigLabels(this.#engine, this.#config, writeLabels(labels));
      const found = await findStackRecord(this.#engine, this.data.stack);
      if (!isRecordOf(found, labels, this.#config)) throw this.#lose(found);
      this.#config = found.config;
      if (done === 'moved' && found.labels.beat !== labels.beat) continue;
      this.#labels = labels;
      this.#writtenAt = performance.now();
      return;
    }
  }

  #lose(found: RecordLookupResult): UpdateError {
    this.release();
    this.#lost ??= createRecordLostError(found, true);
    return this.#lost;
  }

  /**
   * Requires that this run still owns the record. Called right before each write to a service, because another run may
   * have taken over the record while this run was suspended.
   * @throws UpdateError update-running
   */
  async requireOwnership(): Promise<void> {
    this.requireNotLost();
    if (performance.now() - this.#writtenAt > staleMs) await this.update();
    for (;;) {
      const askedAt = performance.now();
      const found = await findStackRecord(this.#engine, this.data.stack);
      if (!isRecordOf(found, this.#labels, this.#config)) throw this.#lose(found);
      // A slow response may be outdated, so the record is read again.
      if (performance.now() - askedAt < beatMs) return;
    }
  }

  /** @throws UpdateError update-running if this run has lost the record */
  requireNotLost(): void {
    if (this.#lost !== null) throw this.#lost;
  }

  release(): void {
    clearInterval(this.#timer);
  }
}

/**
 * Whether a record belongs to the given run and container. If a config is given, the record must also be stored in that
 * config.
 */
const isRecordOf = (
  found: RecordLookupResult,
  { run, container }: Pick<RecordLabels, 'run' | 'container'>,
  config: Pick<SwarmConfig, 'id'> | null = null,
): found is FoundStackRecord =>
  found !== null &&
  'labels' in found &&
  (config === null || found.config.id === config.id) &&
  found.labels.run === run &&
  found.labels.container === container;

const createRecordLostError = (found: RecordLookupResult, isOthers: boolean): UpdateError =>
  new UpdateError(
    'update-running',
    found !== null && 'labels' in found && isOthers
      ? `another update of this stack is in progress in container ${found.labels.container.slice(0, 12)} (run ${found.labels.run})`
      : `the update record of this run, a Swarm config, was removed`,
    {
      advice: 'Wait until no other update is running, then run {command} again.',
      state: noFurtherChangesText,
    },
  );

const noFurtherChangesText = 'this run will make no further changes';

/**
 * Waits up to 45 s for a write by the holder. If there is no write, returns the current record; null if the record was
 * removed.
 * @throws UpdateError update-running if the holder is active; stack-busy if the record cannot be read
 */
export async function waitUntilRecordHolderInactive(
  engine: Engine,
  found: FoundStackRecord,
): Promise<FoundStackRecord | null> {
  const { stack } = found.data;
  const { version } = found.config;
  const evaluate = (now: FoundStackRecord | null, isLate: boolean) => {
    if (now !== null && now.config.id === found.config.id && now.config.version === version)
      return isLate ? found : undefined;
    if (now === null || now.labels.state.at === 'ended') return now;
    throw createRecordLostError(now, true);
  };
  const wait = { pause: pollMs, deadlineMs: deadMs, signal: engine.aborted };
  return waitUntil(() => readStackRecord(engine, stack), evaluate, wait);
}
