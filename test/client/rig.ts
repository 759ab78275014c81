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
import { toNodeHandler } from '../../src/instance/http/node-handler.ts';
import {
  createScriptedUpdates,
  type InstanceUpdates,
  type Script,
  type ScriptedRun,
  typicalRun,
} from '../../src/instance/testing/index.ts';
import type { PhaseWord } from '../../src/wire/codes.ts';

const nowhere = mkdtempSync(join(tmpdir(), 'svc-client-'));
const program = join(nowhere, 'svc.mjs');
// One file, as it is shipped, starts faster than its sources.
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

// Tests run side by side, so nothing is cleaned up before all are over.
const cleanUps: (() => unknown)[] = [() => rmSync(nowhere, { recursive: true, force: true })];
export const afterTests = (cleanUp: () => unknown): void => void cleanUps.push(cleanUp);
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

/** What a command of the client has said and done. */
export interface Said {
  out: string;
  err: string;
  exitCode: number | undefined;
}

export interface Typing {
  env?: Record<string, string>;
  /** Called with what it has said so far, at each piece. */
  onOutput?: (said: string, interrupt: (signal?: NodeJS.Signals) => unknown) => unknown;
  /** Ctrl-C, once this is resolved. */
  interruptAfter?: Promise<unknown>;
}

/** The environment of a client: nothing of the tests' own but where programs are. */
export const environment = (url: string, more: Record<string, string> = {}): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: nowhere,
  TZ: 'UTC',
  ...(url === '' ? {} : { SVC_URL: url }),
  ...more,
});

export const clientCommand: readonly [string, ...string[]] = [process.execPath, program];

/** Runs the real client as a process of its own, with its output in pipes. */
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
    stream.on('data', (piece) => {
      said += piece;
      onOutput?.(said, (signal = 'SIGINT') => child.kill(signal));
    });
  }
  const { stdout, stderr, exitCode } = await child;
  return { out: stdout, err: stderr, exitCode };
}

/** Each line of what `--json` prints. */
export const parseLines = (out: string) =>
  out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

/** A server that answers as the listener does, until the test is over; gives its address. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterTests(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A run that goes no further than that while it is said to last, by default for ever, however slow its follower is. */
export function stayingIn(state: PhaseWord, lasts = () => true): ScriptedRun {
  const { steps, end } = typicalRun();
  return { steps: steps.map((step) => (step.state === state ? { ...step, lasts } : step)), end };
}

/** An instance that is played from a script, on a real server. */
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
