// The server library's door to the engine: there is no docker client beside a server, and a log has to be followed and a
// pull reported while they go on.

import {
  type Container,
  type Image,
  type ListedContainer,
  readContainer,
  readImage,
  readListed,
} from './container.ts';
import { EngineClient, type Question } from './http/client.ts';
import { EngineFault, refusalFault } from './http/fault.ts';
import { linesOfStream, logText, objectOf } from './http/lines.ts';
import { type Filters, filtered, requestName } from './http/request.ts';
import { engineTarget } from './http/target.ts';
import { imageAnswer } from './image-answer.ts';
import { listOf, textOf } from './json.ts';
import { type PullRequest, pullImage } from './pull-image.ts';
import { loginHeaders, type RegistryLogin } from './registry-login.ts';

/** How long an engine is waited for, in milliseconds. */
export interface Patience {
  /** What is answered at once. */
  query: number;
  /** What asks a registry. */
  registry: number;
  /** What takes long on a busy machine, as the engine mounts first. */
  work: number;
  /** The silence of a pull; the engine waits for registries, and unpacks large layers. */
  pullSilence: number;
  /** The silence of a log, which is then read again. An updater says something at least every ten seconds. */
  logSilence: number;
}

/** A container's definition as the engine's API takes it, and its name. */
export interface ContainerSpec {
  name: string;
  Image: string;
  Cmd?: string[];
  Env?: string[];
  Labels?: Record<string, string>;
  StopTimeout?: number;
  HostConfig?: { Mounts?: MountSpec[]; [key: string]: unknown };
}

export interface MountSpec {
  Type: 'bind' | 'volume';
  Source: string;
  Target: string;
  ReadOnly?: boolean;
}

const usualPatience: Patience = {
  query: 5_000,
  registry: 30_000,
  work: 60_000,
  pullSilence: 300_000,
  logSilence: 60_000,
};
const containerName = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;

/** The engine over its socket, for a server that has no docker client beside it. All methods throw EngineFault. */
export class EngineSocket {
  /** Of the socket, or the address in its place. */
  readonly path: string;
  readonly #engine: EngineClient;
  readonly #patience: Patience;

  /** @param place a socket's path, `unix://…` or `tcp://…`. @throws TypeError for an address of another kind */
  constructor(place: string, { patience = {} }: { patience?: Partial<Patience> } = {}) {
    this.path = place.replace(/^unix:\/\//, '');
    this.#patience = { ...usualPatience, ...patience };
    const target = engineTarget(place.startsWith('/') ? `unix://${place}` : place);
    this.#engine = new EngineClient(target, this.#patience.query);
  }

  /** By id or name; null if there is none. */
  async inspect(name: string): Promise<Container | null> {
    // The engine sends a redirect for an odd path, so such names are not asked for.
    if (!containerName.test(name)) return null;
    const raw = await orNull(this.#get(`/containers/${name}/json`));
    return raw === null ? null : understood(raw, readWhole);
  }

  /** Containers by the engine's filters, such as `{ label: ['svc.role=worker'] }`; stopped ones, too. */
  async list(filters: Filters): Promise<ListedContainer[]> {
    const found = await this.#ask({
      method: 'GET',
      path: filtered('/containers/json', filters, { all: '1' }),
    });
    return understood(found, (text) => listOf(JSON.parse(text.toString())).map(readListed));
  }

  /** What it calls itself, `Engine` or `Podman Engine`; null if the engine does not report it, or may not be asked. */
  async product(): Promise<string | null> {
    const { Components } = await this.#version();
    return Array.isArray(Components) ? String(Object(Components[0]).Name ?? '') || null : null;
  }

  /** What it runs images of, `linux/amd64`; null if the engine does not report it, or may not be asked. */
  async platform(): Promise<string | null> {
    const { Os, Arch } = await this.#version();
    return typeof Os === 'string' && typeof Arch === 'string' ? `${Os}/${Arch}` : null;
  }

  /** Nothing if it may not be asked. */
  async #version(): Promise<Record<string, unknown>> {
    try {
      return await this.#get('/version');
    } catch (error) {
      if (error instanceof EngineFault && error.kind === 'refused') return {};
      throw error;
    }
  }

  /** A local image by reference or id; null if it is not here. */
  async image(reference: string): Promise<Image | null> {
    const raw = await imageAnswer((query) => orNull(this.#get(`/images/${inPath(reference)}/json?${query}`)));
    return raw === null ? null : understood(raw, readImage);
  }

  /** The digest that a tag names in its registry now. The engine asks there: it may take seconds. */
  async remoteDigest(reference: string, login: RegistryLogin | null): Promise<string> {
    const raw = await this.#get(`/distribution/${inPath(reference)}/json`, {
      headers: loginHeaders(login),
      deadlineMs: this.#patience.registry,
    });
    return understood(raw, ({ Descriptor }) => textOf(Object(Descriptor).digest));
  }

  /** Pulls an image. The words of a failure are the registry's or the engine's. */
  pull(request: PullRequest): Promise<void> {
    return pullImage(this.#engine, request, this.#patience.pullSilence);
  }

  /** Gives the new container's id. A name that is taken is a refusal with status 409. */
  async create({ name, ...body }: ContainerSpec): Promise<string> {
    const query = new URLSearchParams({ name });
    const { work: deadlineMs } = this.#patience;
    const asked = { method: 'POST', path: `/containers/create?${query}`, body, deadlineMs } as const;
    const made = await this.#ask(asked);
    return understood(objectOf(made.toString()), ({ Id }) => textOf(Id));
  }

  /** Unpacks a tar archive at the root of a container. No error contains the response, which may repeat the archive. */
  async putArchive(id: string, body: Buffer): Promise<void> {
    const deadlineMs = this.#patience.work;
    const question = { method: 'PUT', path: `/containers/${id}/archive?path=/`, body, deadlineMs } as const;
    const { status } = await this.#engine.ask(question);
    if (status >= 300) throw refusalFault(requestName(question), { status, body: Buffer.alloc(0) });
  }

  /** A container that runs already is none that has to be started. */
  async start(id: string): Promise<void> {
    const deadlineMs = this.#patience.work;
    await orNull(this.#ask({ method: 'POST', path: `/containers/${id}/start`, deadlineMs }), [304]);
  }

  /** Whether there was one to get the signal: none that has ended, or is gone. */
  async kill(id: string, signal: NodeJS.Signals): Promise<boolean> {
    const query = new URLSearchParams({ signal });
    const asked = this.#ask({ method: 'POST', path: `/containers/${id}/kill?${query}` });
    return (await orNull(asked, [404, 409])) !== null;
  }

  async rename(id: string, name: string): Promise<void> {
    const query = new URLSearchParams({ name });
    await this.#ask({ method: 'POST', path: `/containers/${id}/rename?${query}` });
  }

  /** A container that is gone already is none that has to be removed; one that runs is refused, but for `force`. */
  async remove(id: string, { force = false }: { force?: boolean } = {}): Promise<void> {
    const query = new URLSearchParams({ v: '1', ...(force && { force: '1' }) });
    const deadlineMs = this.#patience.work;
    await orNull(this.#ask({ method: 'DELETE', path: `/containers/${id}?${query}`, deadlineMs }));
  }

  /** The lines of a container's log from its first one on, until the container ends or the signal is given. */
  async *logs(id: string, signal: AbortSignal): AsyncGenerator<string> {
    const query = new URLSearchParams({ follow: '1', stdout: '1', stderr: '1' });
    const { work, logSilence } = this.#patience;
    try {
      const { chunks } = await this.#engine.open(
        { method: 'GET', path: `/containers/${id}/logs?${query}`, signal, deadlineMs: work },
        logSilence,
      );
      yield* linesOfStream(logText(chunks));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #get(path: string, more: Pick<Question, 'headers' | 'deadlineMs'> = {}) {
    return objectOf((await this.#ask({ ...more, method: 'GET', path })).toString());
  }

  /** Gives the body of the answer. */
  async #ask(question: Question): Promise<Buffer> {
    const answer = await this.#engine.ask(question);
    if (answer.status < 300) return answer.body;
    throw refusalFault(requestName(question), answer);
  }
}

/** Null if the engine says by its status that there is no such thing, or nothing to do. */
async function orNull<T>(asked: Promise<T>, statuses: readonly number[] = [404]): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    // What stands before the engine does not know what the engine has.
    if (error instanceof EngineFault && !error.isForeign && statuses.includes(error.status ?? 0)) return null;
    throw error;
  }
}

function readWhole(raw: Record<string, unknown>): Container {
  const container = readContainer({ ...raw, Id: textOf(raw.Id) });
  if (Number.isNaN(Date.parse(container.createdAt))) throw new TypeError(`created at ${container.createdAt}`);
  return container;
}

/** An answer of another shape is none of an engine's, whoever sent it. */
function understood<T, R>(raw: T, read: (raw: T) => R): R {
  try {
    return read(raw);
  } catch (cause) {
    const message = `this is not an answer of an engine: ${(cause as Error).message}`;
    throw new EngineFault('away', message, { isForeign: true, cause });
  }
}

const inPath = (reference: string): string => reference.split('/').map(encodeURIComponent).join('/');
