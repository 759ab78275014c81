// A container of the updater's own image that runs `tools.ts` on the mounts of other containers. It has no network, its root is
// read-only, and of root's capabilities it only has those over files. It exits when its standard input closes, which the updater holds.

import { createHash } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { jsonText, mistakeIn } from '../../core/progress/json-text.ts';
import { type ErrorCode, UpdateError } from '../../core/progress/update-error.ts';
import { waitUntil } from '../../core/progress/wait.ts';
import { createScratch, removeScratch } from '../../engine/api/scratch.ts';
import { lastLine } from '../../engine/cli/command.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { byLine } from '../../engine/cli/run-attached.ts';
import { EngineError } from '../../engine/http/engine-error.ts';
import { type Json, object } from '../../engine/json.ts';
import { composeLabels } from '../../engine/labels.ts';
import type { DataDoors } from './data-doors.ts';
import { type Told, type ToolsResult, toolsLine, toolsResults } from './tools-answers.ts';
import { type Asked, program, type Verb } from './tools-protocol.ts';

export interface ToolsCall<V extends Verb> {
  verb: V;
  asked: Asked;
  /** In the engine's own form. */
  mounts: readonly Json[];
  /** For `ports`: the container whose network namespace is joined. */
  networkOf?: string;
  /** What else of the host it is given, in the engine's own form. */
  hostConfig?: Json;
  onProgress?: (bytes: number) => void;
  /** `cold` begins once it resolves. If it rejects, the container is to be ended by the signal. */
  stopped?: Promise<unknown>;
  /** Ends the container. */
  signal?: AbortSignal;
  /** Of every failure of the program but missing space. */
  code: ErrorCode;
}

const rights = ['DAC_OVERRIDE', 'DAC_READ_SEARCH', 'CHOWN', 'FOWNER', 'FSETID', 'SETFCAP', 'MKNOD'];
const memory = 1024 ** 3;
/** Characters: a result is one line, which may list the mounts of all processes. */
const longestResult = 16 * 1024 ** 2;
const pauseMs = 100;
/** Of a container that was prepared: the hash of its definition. */
const preparedLabel = 'svc-updater.prepared';

/**
 * Runs the program to its end, which may take hours, and gives its result.
 * @throws UpdateError no-space; the code of the call if the program fails; engine-unavailable if it was ended from outside. The signal's reason. Cancelled
 */
export async function runTools<V extends Verb>(
  doors: DataDoors,
  call: ToolsCall<V>,
): Promise<ToolsResult<V>> {
  const engine = call.signal === undefined ? doors.engine : doors.engine.until(call.signal);
  const prepared = await findPrepared(doors, call);
  const id = prepared ?? (await createTools(doors, call));
  let isKept = false;
  try {
    const result = await run(engine, id, call);
    isKept = prepared !== null;
    return result;
  } catch (error) {
    call.signal?.throwIfAborted();
    throw ofFullDisk(error);
  } finally {
    const uncancelled = doors.engine.uncancellable();
    // This helper changes no files, so nobody waits for its end, which a dead share could delay for ever.
    if (call.verb === 'tables') removeScratch(uncancelled, id).catch(() => {});
    // One that has failed is not tried again.
    else if (!isKept) await remove(uncancelled, id);
  }
}

async function findPrepared(doors: DataDoors, call: ToolsCall<Verb>): Promise<string | null> {
  if (!doors.hasLock) return null;
  const { engine, toolsImage } = doors;
  const label = [`${preparedLabel}=${hashOf(toolsImage, definitionOf(call))}`];
  const found = await engine.listContainers({ label });
  // Labels of compose's containers are whatever their file says.
  const own = found.find(({ labels }) => !(composeLabels.project in labels));
  if (own === undefined) return null;
  // The updater that has started it may have been killed a moment ago.
  await engine.stopContainers([own.id]);
  return own.id;
}

const hashOf = (image: string, definition: object): string =>
  createHash('sha256')
    .update(JSON.stringify([image, definition]))
    .digest('hex');

/**
 * @param holder the label by which a container is removed that is created ahead of time: on a full disk, an engine can start one
 * with less space than it takes to create one. An equal call uses it, as often as it succeeds.
 */
export async function createTools(
  { engine, project, toolsImage }: DataDoors,
  call: ToolsCall<Verb>,
  holder?: { label: string; madeFor: string },
): Promise<string> {
  const { config, hostConfig } = definitionOf(call);
  const Labels = holder && { [preparedLabel]: hashOf(toolsImage, { config, hostConfig }) };
  const options = { config: { ...config, Labels }, hostConfig, ...(holder && { label: holder.label }) };
  const id = await createScratch(engine, toolsImage, holder?.madeFor ?? project, options).catch((error) => {
    throw ofFullDisk(error);
  });
  if (id === null)
    throw new UpdateError(
      'engine-unavailable',
      `the updater image ${toolsImage} is no longer on this machine`,
    );
  return id;
}

/** What the container of a call is created with. */
const definitionOf = ({ verb, asked, mounts, networkOf, hostConfig = {} }: ToolsCall<Verb>) => ({
  config: {
    Entrypoint: program,
    Cmd: [verb, JSON.stringify(asked)],
    User: '0:0',
    StopSignal: 'SIGKILL',
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
  },
  hostConfig: {
    Mounts: mounts,
    ...(networkOf !== undefined && { NetworkMode: `container:${networkOf}` }),
    CapDrop: ['ALL'],
    CapAdd: networkOf === undefined ? rights : [],
    SecurityOpt: ['no-new-privileges', 'label=disable'],
    ReadonlyRootfs: true,
    // Owners are the host's, also if the engine gives its containers others.
    UsernsMode: 'host',
    Memory: memory,
    MemorySwap: memory,
    PidsLimit: 256,
    // Its output is read while it runs.
    LogConfig: { Type: 'none' },
    ...hostConfig,
  },
});

/** The engine and rsync report a full disk only in their texts. */
function ofFullDisk(error: unknown): unknown {
  if (!(error instanceof UpdateError)) return error;
  const { message, detail } = error;
  const isFull = /no space left on device|ENOSPC|EDQUOT|quota exceeded/i.test(
    [message, ...detail].join('\n'),
  );
  return isFull ? error.withCode('no-space') : error;
}

async function run<V extends Verb>(
  engine: Engine,
  id: string,
  { verb, onProgress, code, mounts, stopped }: ToolsCall<V>,
): Promise<ToolsResult<V>> {
  let last: Told | null = null;
  const output = byLine((line) => {
    const told = jsonText(toolsLine).safeParse(line).data;
    if (told && 'bytes' in told) onProgress?.(told.bytes);
    else last = told ?? null;
  }, longestResult);
  const input = new PassThrough();
  stopped?.then(
    () => input.write('\n'),
    () => {},
  );
  const options = { deadlineMs: Number.POSITIVE_INFINITY, repeatable: false, input, output };
  const { stderr } = await engine.call(['start', '--attach', '--interactive', id], options);
  input.destroy();
  const state = await endOf(engine, id);
  const told = last as Told | null;
  const exitCode = Number(state.ExitCode);
  // The program exits with 0 or 1; other codes are the engine's, or a signal's.
  if (told === null || exitCode > 1 || state.OOMKilled === true) {
    const why = state.OOMKilled === true ? 'out of memory' : `exit code ${exitCode}`;
    const reason = lastLine(stderr);
    throw new UpdateError('engine-unavailable', `the helper container that copies data failed: ${why}`, {
      ...(reason !== '' && { detail: [reason], cause: new EngineError('refused', reason) }),
    });
  }
  if ('result' in told) {
    const { data, error } = toolsResults[verb].safeParse(told.result);
    if (!error) return data as ToolsResult<V>;
    const message = `the result of the helper container that copies data cannot be read: ${mistakeIn(error)}`;
    throw new UpdateError(code, message);
  }
  const [sentence = '', ...detail] = told.error.split('\n');
  const source = mounts.find(({ Target }) => Target === told.at)?.Source;
  const message = source === undefined ? sentence : `${source}: ${sentence}`;
  throw new UpdateError(told.code === 'no-space' ? 'no-space' : code, message, { detail });
}

/** If the connection to it was lost, it ends, too, but later. */
function endOf(engine: Engine, id: string): Promise<Json> {
  const observe = async () => {
    const [raw] = await engine.inspectRaw([id]);
    if (raw === undefined)
      throw new UpdateError('engine-unavailable', 'the helper container that copies data was removed');
    return object(raw.State);
  };
  const evaluate = (state: Json) => (state.Running === true ? undefined : state);
  return waitUntil(observe, evaluate, { pause: pauseMs, signal: engine.aborted });
}

/** What it does to files has ended when this returns. If the engine does not answer, it ends with the connection. */
async function remove(engine: Engine, id: string): Promise<void> {
  try {
    await removeScratch(engine, id);
    const observe = () => engine.inspectRaw([id]);
    const evaluate = (found: readonly unknown[]) => found.length === 0 || undefined;
    await waitUntil(observe, evaluate, { pause: pauseMs, signal: engine.aborted });
  } catch {}
}
