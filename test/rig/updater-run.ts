import { randomBytes } from 'node:crypto';
import { execa } from 'execa';
import type { ProgressEvent } from '../../src/core/progress/event.ts';
import { parseEventLine } from '../../src/core/progress/log-line.ts';
import { engineSocket } from './engine-api.ts';

/** SECURITY.md, "Minimum required privileges": options of `docker run`. */
export const leastRights: readonly string[] = [
  ...['--network', 'none', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
  ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER'].flatMap((name) => ['--cap-add', name]),
  ...['--read-only', '--tmpfs', '/tmp'],
];

/** Differences of an operator's `docker run` command from the default. */
export interface UpdaterOptions {
  /** The mount point of the compose directory; default its own path, null if it is not mounted. */
  mount?: string | null;
  readOnly?: boolean;
  /** The socket on the host; null for none. */
  socket?: string | null;
  /** Additional `-v` options. */
  volumes?: string[];
  /** Additional `-e` options. */
  env?: Record<string, string>;
  /** Additional flags of `docker run`. */
  docker?: readonly string[];
  /** Default `--rm`; otherwise the container is removed with the instance. */
  keep?: boolean;
  /** Instead of `svc-updater:dev`. */
  image?: string;
  /** Seconds until the test kills the updater. Default 180, or more for an emulated machine. */
  patience?: number;
}

export interface UpdateResult {
  exitCode: number;
  /** The whole output, as an operator sees it. */
  log: string;
  /** The lines that are events in the log's format. */
  lines: ProgressEvent[];
  durationMs: number;
}

export const usualPatience = Number(process.env.SVC_TEST_PATIENCE ?? 180);
export const updaterImage = process.env.SVC_UPDATER_IMAGE ?? 'svc-updater:dev';

/** An updater container, started like an operator does, that runs concurrently with the test. */
export class UpdaterRun {
  readonly name: string;
  log = '';
  /** Resolves with the result when the container has ended; never rejects because of the exit code. */
  readonly done: Promise<UpdateResult>;
  #listeners = new Set<() => void>();
  #ended = false;

  constructor(
    instance: { name: string; directory: string },
    args: readonly string[],
    options: UpdaterOptions,
  ) {
    this.name = `${instance.name}-updater-${randomBytes(2).toString('hex')}`;
    const started = performance.now();
    const command = dockerRun(this.name, instance.directory, args, options);
    const [program = '', ...first] = (process.env.SVC_TEST_RUN ?? 'docker').split(' ');
    const child = execa(program, [...first, ...command], {
      all: true,
      reject: false,
      stdin: 'ignore',
      buffer: false,
    });
    child.all.setEncoding('utf8').on('data', (text: string) => {
      this.log += text;
      for (const listener of this.#listeners) listener();
    });
    const impatience = setTimeout(() => this.kill(), (options.patience ?? usualPatience) * 1000);
    this.done = this.#finish(child, started).finally(() => clearTimeout(impatience));
  }

  /** Resolves once the log matches. Throws with the log if the run ends or the time is over before. */
  async waitFor(pattern: RegExp | string, seconds = 120): Promise<void> {
    const matches = () => (typeof pattern === 'string' ? this.log.includes(pattern) : pattern.test(this.log));
    const missing = (why: string) => new Error(`${why} and the log has no ${pattern}:\n${this.log}`);
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: Error) => {
        clearTimeout(timer);
        this.#listeners.delete(look);
        if (error) reject(error);
        else resolve();
      };
      const look = () => {
        if (matches()) settle();
        else if (this.#ended) settle(missing('the updater ended'));
      };
      const timer = setTimeout(() => settle(missing(`${seconds} s passed`)), seconds * 1000);
      this.#listeners.add(look);
      look();
    });
  }

  /** `docker kill --signal`: SIGTERM, SIGINT, or by default SIGKILL. */
  async kill(signal = 'SIGKILL'): Promise<void> {
    await execa('docker', ['kill', '--signal', signal, this.name], { reject: false });
  }

  /** `docker stop` */
  async stop(seconds = 120): Promise<void> {
    await execa('docker', ['stop', '--time', `${seconds}`, this.name], { reject: false });
  }

  async #finish(
    child: PromiseLike<{ exitCode?: number | undefined; originalMessage?: string | undefined }>,
    started: number,
  ): Promise<UpdateResult> {
    const { exitCode, originalMessage } = await child;
    this.#ended = true;
    for (const listener of this.#listeners) listener();
    if (exitCode === undefined)
      throw new Error(`docker run did not end by itself: ${originalMessage}\n${this.log}`);
    const lines = this.log
      .split('\n')
      .map((line) => parseEventLine(line))
      .filter((event) => event !== null);
    return { exitCode, log: this.log, lines, durationMs: performance.now() - started };
  }
}

/** The arguments of `docker` for a run of the updater's image. */
export function dockerRun(
  name: string,
  directory: string,
  args: readonly string[],
  options: UpdaterOptions,
): string[] {
  const volumes = [...(options.volumes ?? [])];
  const socket = options.socket === undefined ? engineSocket : options.socket;
  if (socket !== null) volumes.unshift(`${socket}:/var/run/docker.sock`);
  const mount = options.mount === undefined ? directory : options.mount;
  if (mount !== null) volumes.unshift(`${directory}:${mount}${options.readOnly ? ':ro' : ''}`);
  return [
    'run',
    ...(options.keep ? [] : ['--rm']),
    ...['--name', name, '--stop-timeout', '120'],
    ...volumes.flatMap((volume) => ['-v', volume]),
    ...Object.entries(options.env ?? {}).flatMap(([key, value]) => ['-e', `${key}=${value}`]),
    ...(options.docker ?? []),
    options.image ?? updaterImage,
    ...args,
  ];
}

/** The arguments of `docker` for compose of the updater's image, as if it were installed on the machine. */
export function imagesCompose(directory: string, env: Readonly<Record<string, string>>): string[] {
  return [
    ...['run', '--rm', '--network', 'none', '-w', directory],
    ...[`${engineSocket}:/var/run/docker.sock`, `${directory}:${directory}`].flatMap((each) => ['-v', each]),
    ...Object.entries({ PWD: directory, ...env }).flatMap(([key, value]) => ['-e', `${key}=${value}`]),
    ...['--entrypoint', '/usr/local/bin/docker', updaterImage, 'compose'],
  ];
}
