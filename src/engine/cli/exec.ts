import type { Readable, Writable } from 'node:stream';
import type { CommandResult } from './command.ts';
import type { Engine } from './engine.ts';

/** By which a process that was begun in somebody's container is known there. */
const mark = 'SVC_UPDATER_EXEC';

interface ExecOptions {
  input?: Readable;
  output?: Writable;
  /** Default: none. */
  deadlineMs?: number;
}

/**
 * Runs a command in a container that runs, as its own user, and gives its result whatever the exit code. The container's
 * environment is the command's: a shell in it reads a password there, which so never leaves the container. What the
 * engine, or this process, does not live to see the end of runs on: `endLeftRunning` ends it.
 * @throws UpdateError engine-away
 */
export const execIn = (
  engine: Engine,
  container: string,
  command: readonly string[],
  { input, output, deadlineMs = Number.POSITIVE_INFINITY }: ExecOptions = {},
): Promise<CommandResult> =>
  engine.call(['exec', '--env', `${mark}=1`, ...(input ? ['--interactive'] : []), container, ...command], {
    repeatable: false,
    deadlineMs,
    ...(input && { input }),
    ...(output && { output }),
  });

/** All but itself: it has no mark, as it is begun without. */
const endMarked = `for each in /proc/[0-9]*; do
  if tr '\\0' '\\n' <"$each/environ" 2>/dev/null | grep -q '^${mark}='; then kill -9 "\${each#/proc/}" 2>/dev/null; fi
done; true`;

/** Ends the processes that `execIn` has begun in the container and that still run. */
export const endLeftRunning = (engine: Engine, container: string): Promise<CommandResult> =>
  engine.call(['exec', container, 'sh', '-c', endMarked]);
