import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { execa } from 'execa';
import { afterAll } from 'vitest';
import { toNodeHandler } from '../../src/server/http/node-handler.ts';
import {
  createScriptedUpdates,
  type InstanceUpdates,
  type Script,
  type ScriptedRun,
  typicalRun,
} from '../../src/server/testing/index.ts';
import type { PhaseName } from '../../src/wire/codes.ts';

const nowhere = mkdtempSync(join(tmpdir(), 'svc-client-'));
const program = join(nowhere, 'svc.mjs');
// The client is bundled, as it is shipped; this also starts faster.
await build({
  entryPoints: [fileURLToPath(new URL('../../src/client/main.ts', import.meta.url))],
  outfile: program,
  bundle: true,
  platform: 'node',
  format: 'esm',
  banner: {
    js: "import { createRequire } from 'node:module';const require = createRequire(import.meta.url);",
  },
  logLevel: 'error',
});

// Tests are concurrent, so everything is cleaned up at the end.
const cleanUps: (() => unknown)[] = [() => rmSync(nowhere, { recursive: true, force: true })];
export const afterTests = (cleanUp: () => unknown): void => void cleanUps.push(cleanUp);
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

/** The output and the exit code of a command. */
export interface Said {
  out: string;
  err: string;
  exitCode: number | undefined;
}

export interface Typing {
  env?: Record<string, string>;
  /** Called with all output so far, after each chunk. */
  onOutput?: (said: string, interrupt: (signal?: NodeJS.Signals) => unknown) => unknown;
  /** Sends Ctrl-C once this promise is resolved. */
  interruptAfter?: Promise<unknown>;
}

/** The environment of a client: only PATH is inherited. */
export const environment = (url: string, more: Record<string, string> = {}): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: nowhere,
  TZ: 'UTC',
  ...(url === '' ? {} : { SVC_URL: url }),
  ...more,
});

export const clientCommand: readonly [string, ...string[]] = [process.execPath, program];

/** Runs the client in its own process, with its output in pipes. */
export async function svc(
  url: string,
  words: string,
  { env = {}, onOutput, interruptAfter }: Typing = {},
): Promise<Said> {
  const [node, ...args] = clientCommand;
  const child = execa(node, [...args, ...words.split(' ').filter(Boolean)], {
    env: environment(url, env),
    extendEnv: false,
    reject: false,
    stripFinalNewline: false,
    input: '',
    timeout: 60_000,
  });
  void interruptAfter?.then(() => child.kill('SIGINT'));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk;
      onOutput?.(said, (signal = 'SIGINT') => child.kill(signal));
    });
  }
  const { stdout, stderr, exitCode } = await child;
  return { out: stdout, err: stderr, exitCode };
}

/** The parsed lines of `--json`. */
export const parseLines = (out: string) =>
  out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

/** Starts a server that runs until the end of the tests, and returns its address. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterTests(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A run that stays in a state while `lasts` returns true, by default forever. */
export function stayingIn(state: PhaseName, lasts = () => true): ScriptedRun {
  const { steps, end } = typicalRun();
  return { steps: steps.map((step) => (step.state === state ? { ...step, lasts } : step)), end };
}

/** Plays a scripted instance on a real HTTP server. */
export async function play(
  script: Script = {},
): Promise<{ url: string; updates: InstanceUpdates; asked: string[] }> {
  const asked: string[] = [];
  const updates = createScriptedUpdates({
    ...script,
    intercept: async (request) => {
      const body = request.method === 'POST' ? await request.clone().text() : '';
      asked.push(
        `${request.method} ${new URL(request.url).pathname.split('/update')[1] ?? ''} ${body}`.trim(),
      );
      return script.intercept?.(request);
    },
  });
  await updates.start();
  afterTests(() => updates.close());
  return { url: await serve(toNodeHandler(updates)), updates, asked };
}
