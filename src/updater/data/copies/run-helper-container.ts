// Runs the helper program (`helper-program/main.ts`) in a helper container. The container has the mounts of other
// containers, no network, and a read-only root file system. Its only root capabilities concern files. If the updater
// exits, the container's standard input closes, and the container exits.

import { createHash } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { waitUntil } from '../../../core/cancellation/wait-until.ts';
import { type ErrorCode, UpdateError } from '../../../core/errors/update-error.ts';
import { createJsonTextSchema, describeSchemaMistake } from '../../../core/text/json-text.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { createLineStream } from '../../../engine/cli/run-attached-command.ts';
import { lastLineOf } from '../../../engine/cli/run-command.ts';
import { createHelperContainer, removeHelperContainer } from '../../../engine/containers/helper-container.ts';
import { EngineError } from '../../../engine/http/engine-error.ts';
import { type Json, toObject } from '../../../engine/objects/json.ts';
import { composeLabels } from '../../../engine/objects/labels.ts';
import type { DataContext } from '../data-context.ts';
import {
  type HelperOperation,
  type HelperRequest,
  helperProgramCommand,
} from '../helper-program/helper-request.ts';
import {
  type HelperMessage,
  type HelperResult,
  helperLineSchema,
  helperResultSchemas,
} from '../helper-program/helper-result.ts';

export interface HelperCall<V extends HelperOperation> {
  verb: V;
  request: HelperRequest;
  /** Mounts in the format of the Engine API. */
  mounts: readonly Json[];
  /** For `ports`: container whose network namespace the helper container joins. */
  networkOf?: string;
  /** Additional access to the host, in the format of the Engine API. */
  hostConfig?: Json;
  onProgress?: (bytes: number) => void;
  /**
   * For `cold`: copying begins when this promise is fulfilled. If it is rejected, the caller must abort `signal` to end
   * the container.
   */
  stopped?: Promise<unknown>;
  /** Ends the container when aborted. */
  signal?: AbortSignal;
  /** Error code for all failures of the helper program except a full disk. */
  code: ErrorCode;
}

const rights = ['DAC_OVERRIDE', 'DAC_READ_SEARCH', 'CHOWN', 'FOWNER', 'FSETID', 'SETFCAP', 'MKNOD'];
const memory = 1024 ** 3;
/** Maximum characters of a result. Its single line may contain the mount tables of all processes. */
const longestResult = 16 * 1024 ** 2;
const pauseMs = 100;
/** Label of helper containers that were created ahead of time. The value is a hash of the container's definition. */
const preparedLabel = 'svc-updater.prepared';

/**
 * Runs the helper program to completion, which may take hours, and returns its result.
 * @throws UpdateError no-space; the call's code if the helper program fails; engine-unavailable if the container was
 * killed or removed; CancelledError; the signal's reason
 */
export async function runHelperContainer<V extends HelperOperation>(
  dataContext: DataContext,
  call: HelperCall<V>,
): Promise<HelperResult<V>> {
  const engine = call.signal === undefined ? dataContext.engine : dataContext.engine.until(call.signal);
  const prepared = await findPreparedContainer(dataContext, call);
  const id = prepared ?? (await createDataHelperContainer(dataContext, call));
  let isKept = false;
  try {
    const result = await startAndAwaitResult(engine, id, call);
    isKept = prepared !== null;
    return result;
  } catch (error) {
    call.signal?.throwIfAborted();
    throw toNoSpaceError(error);
  } finally {
    const uncancelled = dataContext.engine.uncancellable();
    // Do not wait for the removal: the helper container changes no files, and a network share could block the removal
    // forever.
    if (call.verb === 'tables') removeHelperContainer(uncancelled, id).catch(() => {});
    // Keep a container that was created ahead of time and has succeeded, because another call may reuse it.
    else if (!isKept) await removeHelperAndWait(uncancelled, id);
  }
}

async function findPreparedContainer(
  dataContext: DataContext,
  call: HelperCall<HelperOperation>,
): Promise<string | null> {
  if (!dataContext.hasLock) return null;
  const { engine, helperImageId: toolsImage } = dataContext;
  const label = [`${preparedLabel}=${definitionHashOf(toolsImage, definitionOf(call))}`];
  const found = await engine.listContainers({ label });
  // Ignore containers of compose projects, because a compose file can set any label on them.
  const own = found.find(({ labels }) => !(composeLabels.project in labels));
  if (own === undefined) return null;
  // The container may still be running if the updater that started it has just been killed.
  await engine.stopContainers([own.id]);
  return own.id;
}

const definitionHashOf = (image: string, definition: object): string =>
  createHash('sha256')
    .update(JSON.stringify([image, definition]))
    .digest('hex');

/**
 * Creates a helper container without starting it. With `holder`, later equal calls reuse the container while it
 * succeeds. On a full disk, the engine may be able to start a container, but not to create one.
 * @param holder - name, and label by which the container is removed
 */
export async function createDataHelperContainer(
  { engine, project, helperImageId: toolsImage }: DataContext,
  call: HelperCall<HelperOperation>,
  holder?: { label: string; madeFor: string; name: string },
): Promise<string> {
  const { config, hostConfig } = definitionOf(call);
  const Labels = holder && { [preparedLabel]: definitionHashOf(toolsImage, { config, hostConfig }) };
  const { madeFor = project, ...named } = holder ?? {};
  const options = { config: { ...config, Labels }, hostConfig, ...named };
  const id = await createHelperContainer(engine, toolsImage, madeFor, options).catch((error) => {
    throw toNoSpaceError(error);
  });
  if (id === null)
    throw new UpdateError(
      'engine-unavailable',
      `the updater image ${toolsImage} is no longer on this machine`,
    );
  return id;
}

/** Returns a container definition in the format of the Engine API. */
const definitionOf = ({
  verb,
  request: requested,
  mounts,
  networkOf,
  hostConfig = {},
}: HelperCall<HelperOperation>) => ({
  config: {
    Entrypoint: helperProgramCommand,
    Cmd: [verb, JSON.stringify(requested)],
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
    // With this mode, the container sees the host's file owners, even if the engine maps users.
    UsernsMode: 'host',
    Memory: memory,
    MemorySwap: memory,
    PidsLimit: 256,
    // The engine stores no output, because the updater reads the output while the container is running.
    LogConfig: { Type: 'none' },
    ...hostConfig,
  },
});

/**
 * Changes the code of a full-disk error to `no-space`. The engine and rsync report a full disk only in the text of a
 * message.
 */
function toNoSpaceError(error: unknown): unknown {
  if (!(error instanceof UpdateError)) return error;
  const { message, detail } = error;
  const isFull = /no space left on device|ENOSPC|EDQUOT|quota exceeded/i.test(
    [message, ...detail].join('\n'),
  );
  return isFull ? error.withCode('no-space') : error;
}

async function startAndAwaitResult<V extends HelperOperation>(
  engine: Engine,
  id: string,
  { verb, onProgress, code, mounts, stopped }: HelperCall<V>,
): Promise<HelperResult<V>> {
  let last: HelperMessage | null = null;
  const output = createLineStream((line) => {
    const told = createJsonTextSchema(helperLineSchema).safeParse(line).data;
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
  const state = await waitForExit(engine, id);
  const told = last as HelperMessage | null;
  const exitCode = Number(state.ExitCode);
  // The helper program exits with 0 or 1; other codes come from the engine or from a signal.
  if (told === null || exitCode > 1 || state.OOMKilled === true) {
    const why = state.OOMKilled === true ? 'out of memory' : `exit code ${exitCode}`;
    const reason = lastLineOf(stderr);
    throw new UpdateError('engine-unavailable', `the helper container that copies data failed: ${why}`, {
      ...(reason !== '' && { detail: [reason], cause: new EngineError('refused', reason) }),
    });
  }
  if ('result' in told) {
    const { data, error } = helperResultSchemas[verb].safeParse(told.result);
    if (!error) return data as HelperResult<V>;
    const message = `the result of the helper container that copies data cannot be read: ${describeSchemaMistake(error)}`;
    throw new UpdateError(code, message);
  }
  const [sentence = '', ...detail] = told.error.split('\n');
  const source = mounts.find(({ Target }) => Target === told.at)?.Source;
  const message = source === undefined ? sentence : `${source}: ${sentence}`;
  throw new UpdateError(told.code === 'no-space' ? 'no-space' : code, message, { detail });
}

/**
 * Waits until the container has exited, and returns its state. If the connection is lost, the wait ends early, because
 * the container then exits soon.
 */
function waitForExit(engine: Engine, id: string): Promise<Json> {
  const observe = async () => {
    const [raw] = await engine.inspectRaw([id]);
    if (raw === undefined)
      throw new UpdateError('engine-unavailable', 'the helper container that copies data was removed');
    return toObject(raw.State);
  };
  const evaluate = (state: Json) => (state.Running === true ? undefined : state);
  return waitUntil(observe, evaluate, { pause: pauseMs, signal: engine.aborted });
}

/**
 * Waits until the container is gone and can no longer change files. Errors are ignored: if the engine does not respond,
 * the container exits when the connection closes.
 */
async function removeHelperAndWait(engine: Engine, id: string): Promise<void> {
  try {
    await removeHelperContainer(engine, id);
    const observe = () => engine.inspectRaw([id]);
    const evaluate = (found: readonly unknown[]) => found.length === 0 || undefined;
    await waitUntil(observe, evaluate, { pause: pauseMs, signal: engine.aborted });
  } catch {}
}
