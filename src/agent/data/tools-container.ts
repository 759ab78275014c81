// A container of the updater's own image that reads and writes what other containers have mounted. It has no network, its
// root is read-only, and of root's rights only those over files.

import { setTimeout as sleep } from 'node:timers/promises';
import { askApi, notDone, readApi, streamApi } from '../../engine/api/api.ts';
import { createScratch, removeScratch } from '../../engine/api/scratch.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { linesOf, logText } from '../../engine/http/lines.ts';
import { type Json, object } from '../../engine/json.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { DataWork } from './kind.ts';

interface ToolsCall {
  /** Program and arguments, never a shell's text. */
  command: readonly string[];
  /** In the engine's own form. */
  mounts: readonly Json[];
  /** Told each line of its standard output as it comes; some may be missed. */
  onLine?: (line: string) => void;
}

export interface ToolsResult {
  exitCode: number;
  /** The last line of its standard output, and the last ones of its errors. */
  last: string;
  errors: string[];
}

const hostConfig = {
  CapDrop: ['ALL'],
  CapAdd: ['DAC_OVERRIDE', 'DAC_READ_SEARCH', 'CHOWN', 'FOWNER', 'FSETID', 'SETFCAP', 'MKNOD'],
  SecurityOpt: ['no-new-privileges', 'label=disable'],
  ReadonlyRootfs: true,
  // Owners are the machine's, also where the engine gives its containers others.
  UsernsMode: 'host',
  // What it prints is read from its log, wherever the machine's logs go.
  LogConfig: { Type: 'json-file' },
};
const pauseMs = 250;
const keptErrors = 20;

/**
 * Runs a program to its end, which may take hours. Whoever is killed meanwhile leaves it running: `removeScratches` ends it.
 * @throws UpdateError engine-away where the engine, or somebody else, has ended it; Cancelled
 */
export async function runTools(
  { engine, project, toolsImage }: DataWork,
  call: ToolsCall,
): Promise<ToolsResult> {
  const [program = '', ...args] = call.command;
  const config = { Entrypoint: [program], Cmd: args, User: '0:0', StopSignal: 'SIGKILL' };
  const id = await createScratch(engine, toolsImage, project, { mounts: call.mounts, config, hostConfig });
  if (id === null) throw new UpdateError('engine-away', `the updater's own image ${toolsImage} is gone`);
  try {
    const started = await askApi(engine, { method: 'POST', path: `/containers/${id}/start` });
    if (started.status >= 400) throw notDone('start a container that reads files', started);
    for (;;) {
      await follow(engine, id, call.onLine ?? (() => {}));
      const state = await stateOf(engine, id);
      if (state.Running !== true) return await endOf(engine, id, state);
      await sleep(pauseMs, undefined, { signal: engine.aborted }).catch(() => {});
    }
  } finally {
    await removeScratch(engine.uncancellable(), id).catch(() => {});
  }
}

async function stateOf(engine: Engine, id: string): Promise<Json> {
  const answer = await readApi(engine, `/containers/${id}/json`);
  if (answer.status === 404)
    throw new UpdateError('engine-away', 'somebody has removed the container that reads files');
  if (answer.status !== 200) throw notDone(`tell of ${id.slice(0, 12)}`, answer);
  return object(JSON.parse(answer.body.toString()).State);
}

/** Until it ends, or the engine goes away: then it is looked after by its state. */
async function follow(engine: Engine, id: string, onLine: (line: string) => void): Promise<void> {
  try {
    const path = `/containers/${id}/logs?follow=1&stdout=1`;
    const { chunks } = await streamApi(engine, path, engine.aborted);
    for await (const line of linesOf(logText(chunks))) onLine(line);
  } catch {}
}

async function endOf(engine: Engine, id: string, state: Json): Promise<ToolsResult> {
  const exitCode = Number(state.ExitCode);
  // The program ends with 0 or 1; others are the engine's, or of a signal.
  if (exitCode > 1 || state.OOMKilled === true) {
    const why = state.OOMKilled === true ? 'it took more memory than there is' : `exit code ${exitCode}`;
    throw new UpdateError('engine-away', `the container that reads files was ended from outside (${why})`);
  }
  const [output, errors] = await Promise.all(
    ['stdout', 'stderr'].map((which) => lastLines(engine, id, which)),
  );
  return { exitCode, last: output?.at(-1) ?? '', errors: errors ?? [] };
}

async function lastLines(engine: Engine, id: string, which: string): Promise<string[]> {
  const answer = await readApi(engine, `/containers/${id}/logs?${which}=1&tail=${keptErrors}`);
  if (answer.status !== 200) throw notDone(`give the log of ${id.slice(0, 12)}`, answer);
  const lines: string[] = [];
  for await (const line of linesOf(logText(piecesOf(answer.body)))) lines.push(line);
  return lines;
}

async function* piecesOf(body: Buffer): AsyncGenerator<Buffer> {
  yield body;
}
