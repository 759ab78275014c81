import { onTestFinished } from 'vitest';
import type { HelperOperation } from '../../../src/updater/data/helper-program/helper-request.ts';
import { isToolsOf } from '../../faults/restore-moments.ts';
import { startBadEngine } from '../../rig/bad-engine.ts';
import { askEngine, type ContainerInspection } from '../../rig/engine-api.ts';
import type { Instance } from './instance.ts';

interface HeldTools {
  /** For `update(args, { socket })`. */
  socket: string;
  /** Resolves when the held container is about to start, or to copy the changes. It waits until `go` is called. */
  reached: Promise<void>;
  go(): void;
}

let count = 0;

/** Holds the helper containers of a run with this verb, from the k-th on: several may copy at the same time. */
export async function holdTools(
  { directory, project }: Instance,
  verb: HelperOperation,
  k = 1,
): Promise<HeldTools> {
  const socket = `${directory}-${++count}.sock`;
  const engine = await startBadEngine(socket);
  onTestFinished(() => engine.close());
  const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let seen = 0;
  const hold = async (id: string): Promise<void> => {
    const { status, body } = await askEngine('GET', `/containers/${id}/json`);
    if (status !== 200) return;
    const { Cmd, Labels } = (JSON.parse(body) as ContainerInspection).Config;
    if (!isToolsOf(project, Labels) || Cmd?.[0] !== verb || ++seen < k) return;
    reached.resolve();
    await gate.promise;
  };
  const idIn = (asked: string, what: string) =>
    new RegExp(`^POST (?:/v[\\d.]+)?/containers/(\\w+)/${what}`).exec(asked)?.[1];
  // The container of the cold copy starts while services stop, and waits for input before it copies.
  if (verb === 'cold') {
    engine.holdInput((asked) => {
      const id = idIn(asked, 'attach');
      return id === undefined ? null : hold(id);
    });
  } else {
    engine.fail(async (asked) => {
      const id = idIn(asked, 'start');
      if (id !== undefined) await hold(id);
      return false;
    });
  }
  return { socket, reached: reached.promise, go: gate.resolve };
}
