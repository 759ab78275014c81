import { PassThrough } from 'node:stream';
import * as z from 'zod/mini';
import { sleepFor, waitUntil } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { createJsonTextSchema } from '../../../core/text/json-text.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { createLineStream } from '../../../engine/cli/run-attached-command.ts';
import { createHelperContainer } from '../../../engine/containers/helper-container.ts';
import { type Json, toObject } from '../../../engine/objects/json.ts';
import { composeLabels } from '../../../engine/objects/labels.ts';
import type { DataContext } from '../../data/data-context.ts';
import {
  type ControlCommand,
  type ControlRequest,
  type ProcessEvent,
  processEvents,
} from '../../data/helper-program/control-request.ts';
import { helperProgramCommand } from '../../data/helper-program/helper-request.ts';

/** Label of helper containers that suspend or kill processes. The value is the project. */
const controlHelperLabel = 'svc-updater.control';
const processEventSchema = z.strictObject({ event: z.enum(processEvents), text: z.string() });
/** Time in ms in which a helper container prints its next line. */
export const eventTimeoutMs = 30_000;
const longestLine = 1_000;
/** Longer than the helper container needs to resume or kill all processes. */
const stopGraceSeconds = 90;
const maxStarts = 5;
const removalTimeoutMs = 30_000;
/** Time in ms in which a restarted helper container resumes all processes. */
const startMs = 2_000;
const memory = 256 * 1024 ** 2;

/** Helper container that controls the processes of other containers while this process is attached to it. */
export interface ControlHelper {
  send(line: ControlCommand): void;
  /** Returns the next event; null if the helper container has ended, or prints nothing before the timeout. */
  nextEvent(timeoutMs?: number): Promise<ProcessEvent | null>;
  /** Stops the helper container, and removes it. */
  close(): Promise<void>;
}

/**
 * Starts a helper container (`data/helper-program/control-processes.ts`) and waits until it is ready. If it is killed,
 * the engine restarts it.
 * @throws UpdateError rehearsal-inconclusive
 */
export async function startControlHelper(
  { engine, project, helperImageId }: DataContext,
  verb: 'suspend' | 'guard',
  request: ControlRequest,
  mounts: readonly Json[] = [],
): Promise<ControlHelper> {
  const uncancelled = engine.uncancellable();
  const id = await createHelperContainer(uncancelled, helperImageId, project, {
    label: controlHelperLabel,
    config: {
      // The updater's image may have this label.
      Labels: { [composeLabels.project]: '' },
      Entrypoint: helperProgramCommand,
      Cmd: [verb, JSON.stringify(request)],
      User: '0:0',
      ...{ OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true },
    },
    hostConfig: {
      Mounts: mounts,
      ...{ PidMode: 'host', UsernsMode: 'host', CgroupnsMode: 'host' },
      ...{ CapDrop: ['ALL'], CapAdd: ['KILL'], ReadonlyRootfs: true },
      // Under AppArmor's default profile, no signal reaches a container that has another profile.
      SecurityOpt: ['no-new-privileges', 'label=disable', 'apparmor=unconfined'],
      ...{ Memory: memory, MemorySwap: memory, PidsLimit: 64, LogConfig: { Type: 'none' } },
      RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 0 },
    },
  });
  if (id === null) throw createControlError('its image is no longer on this machine');
  const events: ProcessEvent[] = [];
  let wake = () => {};
  const output = createLineStream((line) => {
    const event = createJsonTextSchema(processEventSchema).safeParse(line).data;
    if (event) events.push(event);
    wake();
  }, longestLine);
  const input = new PassThrough();
  let hasEnded = false;
  const options = { deadlineMs: Number.POSITIVE_INFINITY, repeatable: false, input, output };
  const running = uncancelled.call(['start', '--attach', '--interactive', id], options).then(
    ({ stderr }) => stderr,
    (error: unknown) => String(error),
  );
  running.finally(() => {
    hasEnded = true;
    wake();
  });
  const nextEvent = async (timeoutMs = eventTimeoutMs): Promise<ProcessEvent | null> => {
    const endsAt = performance.now() + timeoutMs;
    while (events.length === 0 && !hasEnded && performance.now() < endsAt) {
      const woken = new AbortController();
      wake = () => woken.abort();
      await sleepFor(endsAt - performance.now(), woken.signal, false);
    }
    return events.shift() ?? null;
  };
  const close = async () => {
    input.end();
    await removeControlHelper(uncancelled, id);
    await running;
  };
  const first = await nextEvent();
  if (first?.event === 'ready') return { send: (line) => void input.write(`${line}\n`), nextEvent, close };
  const ended = hasEnded ? await running : 'it printed nothing';
  await close();
  throw createControlError(ended.trim());
}

const createControlError = (why: string): UpdateError =>
  new UpdateError(
    'rehearsal-inconclusive',
    `the helper container that controls processes could not be started: ${why}`,
  );

/**
 * Removes the helper containers of a killed rehearsal. `suspend` first resumes all processes. `guard` exits without
 * killing, because the caller removes the containers.
 */
export async function removeControlHelpers(engine: Engine, project: string): Promise<void> {
  const found = await engine.listContainers({ label: [`${controlHelperLabel}=${project}`] });
  // An image or a compose file can set any label on a service's container.
  for (const { id, labels } of found)
    if (!labels[composeLabels.project]) await removeControlHelper(engine, id);
}

/**
 * Stops and removes a helper container. If it did not exit with 0, suspended processes may remain, so it is started again:
 * `suspend` resumes them at its start.
 */
async function removeControlHelper(engine: Engine, id: string): Promise<void> {
  for (let attempt = 0; attempt < maxStarts; attempt++) {
    await engine.request('stopContainer', { params: { id }, query: { t: `${stopGraceSeconds}` } });
    const [raw] = await engine.inspectRaw([id]);
    if (raw === undefined || toObject(raw.State).ExitCode === 0) break;
    await engine.startContainer(id).catch(() => {});
    await sleepFor(startMs, engine.aborted);
  }
  // A removal may fail for a moment, for example while the engine unmounts the container's disk.
  const remove = async () => {
    await engine.removeContainer(id, { force: true }).catch(() => {});
    return engine.inspectRaw([id]);
  };
  const evaluate = (found: readonly unknown[], isLate: boolean) => found.length === 0 || isLate || undefined;
  await waitUntil(remove, evaluate, { pause: 200, deadlineMs: removalTimeoutMs, signal: engine.aborted });
}
