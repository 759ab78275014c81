// The example of a framework as a separate project, with the library as published.

import { appendFile, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { execa } from 'execa';
import { expect } from 'vitest';
import { read } from '../documents/documents.ts';
import { EngineDouble } from '../rig/engine-double/engine-double.ts';
import { lineOf, workOf } from '../rig/engine-double/script.ts';
import { freePort } from '../rig/free-port.ts';
import type { Framework } from './frameworks.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = join(root, '.cache/frameworks');

/** Milliseconds, enough for a busy machine. */
const patience = 300_000;

const path = '/api/v1/instance/update';
const headers = { Authorization: 'Bearer correct horse' };

/** The code blocks below a heading of docs/frameworks/README.md, by file name. */
export function exampleOf(heading: string | null): Record<string, string> {
  const [intro = '', ...sections] = read('docs/frameworks/README.md').split(/^## /m);
  const section = heading === null ? intro : sections.find((text) => text.startsWith(`${heading}\n`));
  const blocks = [...(section ?? '').matchAll(/^`([^`\n]+)`:\n\n```ts\n(.*?)^```$/gms)];
  return Object.fromEntries(blocks.map(([, file = '', code = '']) => [file, code]));
}

export async function withProject(
  framework: Framework,
  use: (project: Project) => Promise<void>,
): Promise<void> {
  const project = await Project.make(framework);
  try {
    await use(project);
  } finally {
    await project.close();
  }
}

export class Project {
  readonly #directory: string;
  readonly #framework: Framework;
  readonly #engine: EngineDouble;
  readonly #feed: Server;
  readonly #environment: Record<string, string>;
  #server: ReturnType<typeof begin> | null = null;
  #output = '';
  #lastStatus: unknown = null;
  #base = '';

  private constructor(
    framework: Framework,
    directory: string,
    rig: { engine: EngineDouble; feed: Server; socket: string },
  ) {
    this.#framework = framework;
    this.#directory = directory;
    this.#engine = rig.engine;
    this.#feed = rig.feed;
    const { port } = rig.feed.address() as AddressInfo;
    this.#environment = {
      DATA: join(directory, 'data'),
      ENGINE: `unix://${rig.socket}`,
      FEED: `http://127.0.0.1:${port}/`,
      // Programs of the project come first, then those of the repository, which has the pinned Node.
      PATH: [
        join(dirname(directory), 'node_modules/.bin'),
        join(root, 'node_modules/.bin'),
        process.env.PATH,
      ].join(':'),
      NODE_ENV: '',
      ...framework.env,
    };
  }

  /** Creates its files and packages, an engine, and a feed with a release. */
  static async make(framework: Framework): Promise<Project> {
    const { name, packages, files, types = ['node'] } = framework;
    const home = join(cache, name.toLowerCase());
    await mkdir(home, { recursive: true });
    if (packages) await install(packages, home);
    const directory = await mkdtemp(join(home, 'app-'));
    const all = { ...exampleOf(null), ...exampleOf(name), ...settings(types), ...files };
    for (const [file, text] of Object.entries(all)) {
      await mkdir(dirname(join(directory, file)), { recursive: true });
      await writeFile(join(directory, file), text);
    }
    await copyFile(new URL('app.ts', import.meta.url), join(directory, 'app.ts'));
    await mkdir(join(directory, 'data'));
    await addLibrary(join(directory, 'node_modules/svc-updater'));
    const engine = await EngineDouble.start();
    engine.images.publish('ghcr.io/acme/svc-updater:1.0.0');
    engine.updaterDoes(workOf('v1.4.2', 'v1.5.0'));
    const { socketPath: socket } = await engine.addServer({ data: join(directory, 'data') });
    const feed = createServer(({ url }, answer) => {
      if (url !== '/') answer.statusCode = 404;
      answer.end('{"releases":[{"version":"v1.5.0"}]}');
    });
    await new Promise<void>((resolve) => feed.listen(0, '127.0.0.1', resolve));
    return new Project(framework, directory, { engine, feed, socket });
  }

  /** Builds the project, or checks its types. */
  async build(): Promise<void> {
    const { build } = this.#framework;
    if (build) return void (await this.run(build));
    const { writeTypes } = await import(new URL('scripts/lib/types.mjs', pathToFileURL(root)).href);
    await writeTypes(['server/index'], join(this.#directory, 'node_modules/svc-updater/types'), []);
    await this.run([join(root, 'node_modules/.bin/tsc'), '-p', '.']);
  }

  /** Runs a command that must succeed, and returns its output. */
  async run([file = '', ...args]: readonly string[]): Promise<string> {
    const { exitCode, all } = await execa(file, args, { ...usual, ...this.#how(), timeout: patience });
    expect(exitCode, `${file} ${args.join(' ')}\n${all}`).toBe(0);
    return all;
  }

  /** Starts a server and waits until the release is available. */
  async start([file = '', ...args]: readonly string[]): Promise<void> {
    const port = await freePort();
    this.#base = `http://127.0.0.1:${port}`;
    const env = { PORT: String(port) };
    const server = begin(file, args, this.#how(env));
    this.#server = server;
    server.all.on('data', (text: Buffer) => {
      this.#output += text;
    });
    await this.until(async () => (await this.status())?.canUpdate === true);
  }

  /** Waits for a condition. If the server exits or time runs out, the error contains the server's output. */
  async until(what: () => Promise<unknown>): Promise<void> {
    for (const end = performance.now() + patience; !(await what()); await sleep(100)) {
      const { exitCode = null, signalCode = null } = this.#server ?? {};
      const isOver = exitCode !== null || signalCode !== null;
      if (isOver || performance.now() > end)
        throw new Error(
          `${isOver ? 'the server has ended' : `it has not come to this: ${what}`}\n${JSON.stringify(this.#lastStatus)}\n${this.#output}`,
        );
    }
  }

  /** The status; null while the server does not respond. */
  async status(): Promise<{ canUpdate: boolean } | null> {
    try {
      const answer = await this.ask('');
      this.#lastStatus = await answer.json();
      return answer.status === 200 ? (this.#lastStatus as { canUpdate: boolean }) : null;
    } catch {
      return null;
    }
  }

  /** Sends a request to the endpoints. */
  ask(below: string, options: RequestInit = {}): Promise<Response> {
    return fetch(`${this.#base}${path}${below}`, {
      ...options,
      signal: AbortSignal.timeout(patience),
      headers: { ...headers, ...options.headers },
    });
  }

  /** Calls of the application's functions so far. */
  async calls(): Promise<string[]> {
    const text = await readFile(join(this.#directory, 'data/calls'), 'utf8').catch(() => '');
    return text.split('\n').filter(Boolean);
  }

  /** Appends a line to a file and waits until a running server has loaded it. */
  async edit(file: string): Promise<void> {
    await appendFile(join(this.#directory, file), "\nconsole.log('loaded', 'again');\n");
    await this.until(async () => (await this.status()) !== null && this.#output.includes('loaded again'));
  }

  /** Lets the updater finish its work. */
  finishUpdate(): void {
    const { updater } = this.#engine;
    updater.say(lineOf({ phase: 'done', message: 'updated v1.4.2 → v1.5.0 in 4 s' }));
    updater.exit(0);
  }

  /** Sends SIGTERM to the server and returns its exit code. */
  async stop(): Promise<number | undefined> {
    const server = this.#server;
    server?.kill('SIGTERM');
    const { exitCode } = (await server) ?? {};
    return exitCode;
  }

  async close(): Promise<void> {
    killGroup(this.#server?.pid);
    await this.#server;
    this.#feed.closeAllConnections();
    this.#feed.close();
    await this.#engine.close();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #how(env: Record<string, string> = {}) {
    return { cwd: this.#directory, env: { ...this.#environment, ...env } };
  }
}

const usual = { all: true, reject: false, stdin: 'ignore' } as const;

/** Starts a server in its own process group, because it may start other processes. */
const begin = (file: string, args: readonly string[], how: { cwd: string; env: Record<string, string> }) =>
  execa(file, args, { ...usual, ...how, detached: true, forceKillAfterDelay: patience });

const settings = (types: readonly string[]) => ({
  'package.json': '{ "type": "module", "private": true }\n',
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      target: 'es2024',
      lib: ['es2024'],
      types,
      module: 'nodenext',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
    },
    include: ['*.ts'],
  }),
});

/** The library, built as for publication. */
async function addLibrary(folder: string): Promise<void> {
  const { dependencies } = JSON.parse(read('package.json'));
  await build({
    absWorkingDir: root,
    entryPoints: ['src/server/index.ts'],
    outfile: join(folder, 'index.mjs'),
    bundle: true,
    platform: 'node',
    target: 'node22',
    format: 'esm',
    minifySyntax: true,
    external: Object.keys(dependencies),
    logLevel: 'warning',
  });
  const instance = { types: './types/server/index.d.ts', default: './index.mjs' };
  const exported = {
    name: 'svc-updater',
    version: '1.0.0',
    type: 'module',
    exports: { './instance': instance },
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify(exported));
}

async function install(packages: Readonly<Record<string, string>>, home: string): Promise<void> {
  await writeFile(join(home, 'package.json'), JSON.stringify({ private: true, dependencies: packages }));
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { exitCode, all } = await execa('npm', args, { ...usual, cwd: home, timeout: patience });
  expect(exitCode, all).toBe(0);
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The process has exited already.
  }
}
