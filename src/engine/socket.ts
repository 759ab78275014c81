// The server library's door to the engine: there is no docker client beside a server, and a log has to be followed and a
// pull reported while they go on.

import { PassThrough } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import Docker from 'dockerode';
import { parseObject } from '../files/parse-object.ts';
import { type Container, type Image, readContainer, readImage } from './container.ts';
import { composeLabels } from './labels.ts';
import { PullMeter, type PullProgress } from './pull-progress.ts';
import type { RegistryLogin } from './registry-login.ts';

/** What the engine tells of a container besides. */
export interface ContainerDetails extends Container {
  /** ISO 8601. */
  createdAt: string;
  finishedAt: string;
  /** What stands behind the entrypoint. */
  args: readonly string[];
}

export type ContainerSpec = Docker.ContainerCreateOptions;

/** The engine refused, or does not answer. */
export class EngineFault extends Error {
  override readonly name = 'EngineFault';
  /** HTTP status of a refusal; null where there was no answer. */
  readonly status: number | null;

  constructor(message: string, status: number | null, cause: unknown) {
    super(message, { cause });
    this.status = status;
  }
}

const queryMs = 5_000;
const containerName = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;

/** The engine over its socket, for a server that has no docker client beside it. All methods throw EngineFault. */
export class EngineSocket {
  readonly path: string;
  /** For what is answered at once. */
  readonly #queries: Docker;
  /** For what goes on for as long as it takes. */
  readonly #streams: Docker;

  constructor(path: string) {
    this.path = path;
    // Without an empty host, dockerode takes DOCKER_HOST of the server's environment in place of the socket.
    this.#queries = new Docker({ host: '', socketPath: path, timeout: queryMs });
    this.#streams = new Docker({ host: '', socketPath: path });
  }

  /** By id or name; null where there is none. */
  async inspect(name: string): Promise<ContainerDetails | null> {
    // The client crashes when it follows the engine's redirect for an odd path, so such names are not asked for.
    if (!containerName.test(name)) return null;
    const raw = await orNull(this.#queries.getContainer(name).inspect());
    if (raw === null) return null;
    return {
      ...readContainer(raw),
      createdAt: raw.Created,
      finishedAt: raw.State.FinishedAt,
      args: raw.Config.Cmd ?? [],
    };
  }

  /** Whether the project has a container of the service, running or not. */
  async hasService(project: string, service: string): Promise<boolean> {
    const label = [`${composeLabels.project}=${project}`, `${composeLabels.service}=${service}`];
    const found = await faulty(this.#queries.listContainers({ all: true, filters: { label } }));
    return found.length > 0;
  }

  /** A local image by reference or id; null where it is not here. */
  async image(reference: string): Promise<Image | null> {
    const raw = await orNull(this.#queries.getImage(reference).inspect());
    return raw === null ? null : readImage(raw);
  }

  /** The digest that a tag names in its registry now. The engine asks there: it may take seconds. */
  async remoteDigest(reference: string, login: RegistryLogin | null): Promise<string> {
    const asked = this.#streams.getImage(reference).distribution(login ? { authconfig: login } : {});
    const { Descriptor } = await faulty(withDeadline(asked, 30_000));
    return Descriptor.digest;
  }

  /** Pulls an image. The words of a failure are the registry's or the engine's. */
  async pull(
    reference: { repository: string; tag: string },
    login: RegistryLogin | null,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const asked = { fromImage: reference.repository, tag: reference.tag, abortSignal: signal };
    const answer = await faulty(this.#streams.createImage(login ?? {}, asked));
    const meter = new PullMeter();
    for await (const line of lines(answer, signal)) {
      const event = parseObject(line);
      if (typeof event?.error === 'string') throw new EngineFault(event.error, 500, null);
      if (typeof event?.id !== 'string') continue;
      const { current, total } = Object(event.progressDetail);
      const progress = meter.add({
        id: event.id,
        words: [String(event.status ?? '')],
        current: Number(current ?? 0),
        total: Number(total ?? 0),
      });
      if (progress) onProgress(progress);
    }
    signal.throwIfAborted();
  }

  /** Gives the new container's id. A name that is taken is a refusal with status 409. */
  async create(spec: ContainerSpec): Promise<string> {
    return (await faulty(this.#queries.createContainer(spec))).id;
  }

  async start(id: string): Promise<void> {
    // A start takes long on a busy machine, as the engine mounts first.
    await faulty(withDeadline(this.#streams.getContainer(id).start(), 60_000));
  }

  async rename(id: string, name: string): Promise<void> {
    await faulty(this.#queries.getContainer(id).rename({ name }));
  }

  /** A container that is gone already is none that has to be removed; one that runs is refused, but for `force`. */
  async remove(id: string, { force = false }: { force?: boolean } = {}): Promise<void> {
    await orNull(withDeadline(this.#streams.getContainer(id).remove({ v: true, force }), 60_000));
  }

  /** The lines of a container's log from its first one on, until the container ends or the signal is given. */
  async *logs(id: string, signal: AbortSignal): AsyncGenerator<string> {
    const asked = { follow: true, stdout: true, stderr: true, abortSignal: signal } as const;
    const answer = await faulty(this.#streams.getContainer(id).logs(asked));
    const text = new PassThrough();
    this.#streams.modem.demuxStream(answer, text, text);
    answer.once('end', () => text.end()).once('close', () => text.end());
    answer.once('error', (error) => text.destroy(error));
    try {
      yield* lines(text, signal);
    } finally {
      (answer as NodeJS.ReadableStream & { destroy(): void }).destroy();
    }
  }
}

async function* lines(stream: NodeJS.ReadableStream, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const chunk of stream) {
      const parts = (rest + decoder.write(chunk as Buffer)).split(/\r?\n/);
      rest = parts.pop() ?? '';
      yield* parts;
      if (signal.aborted) return;
    }
    if (rest !== '') yield rest;
  } catch (error) {
    if (!signal.aborted) throw fault(error);
  }
}

async function faulty<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw fault(error);
  }
}

/** Null where the engine knows no such thing. */
async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    const { status, message, cause } = fault(error);
    if (status === 404) return null;
    throw new EngineFault(message, status, cause);
  }
}

function fault(error: unknown): EngineFault {
  if (error instanceof EngineFault) return error;
  const { statusCode, json, message, code } = Object(error);
  const status = typeof statusCode === 'number' ? statusCode : null;
  const words =
    typeof json?.message === 'string'
      ? json.message
      : String(message ?? error)
          .replace(/^\(HTTP code \d+\) [^-]*- /, '')
          .trim();
  return new EngineFault(status === null && code ? `${words} (${code})` : words, status, error);
}

async function withDeadline<T>(asked: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds / 1000} s`)), milliseconds);
  });
  return Promise.race([asked, late]).finally(() => clearTimeout(timer));
}
