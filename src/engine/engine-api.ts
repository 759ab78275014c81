// The one door to the engine's API, for the updater and for the server library. `engine-calls.ts` has the properties of each call.

import type { Readable } from 'node:stream';
import { isWithin } from '../core/files/host-paths.ts';
import {
  type Container,
  type Image,
  isUp,
  type ListedContainer,
  readContainer,
  readImage,
  readListed,
} from './container.ts';
import { type EngineCall, type EngineCallName, type EngineTimeouts, engineCalls } from './engine-calls.ts';
import { isVersion } from './http/api-version.ts';
import { EngineClient } from './http/client.ts';
import { EngineError, refusalError, rejections, unless } from './http/engine-error.ts';
import { linesOfStream, logText, objectsOf } from './http/lines.ts';
import type { EngineAnswer, EngineQuestion, EngineStream } from './http/request.ts';
import { type EngineTarget, engineTarget } from './http/target.ts';
import { type Json, list, listOf, object, strings, textOf } from './json.ts';
import { composeLabels } from './labels.ts';
import { findOwnContainer, type OwnTraces } from './own-container.ts';
import { inDockersWords, isPodman } from './podman.ts';
import { PullMeter, type PullProgress } from './pull-progress.ts';
import { loginHeaders, type RegistryLogin } from './registry-login.ts';

/** Such as `{ label: ['svc.role=worker'] }`. */
export type Filters = Readonly<Record<string, readonly string[]>>;

export interface CallOptions {
  /** Values of the path's parameters, and of those of the purpose. */
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string>>;
  filters?: Filters;
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
  /** In place of the call's. */
  deadlineMs?: number;
  limit?: number;
  cut?: boolean;
  signal?: AbortSignal;
  /** No error contains the response, because it may repeat the request. */
  isSecret?: boolean;
}

/** What the engine reports about itself. */
export interface EngineFacts {
  version: string;
  /** `linux/amd64`; empty if the engine does not report it. */
  platform: string;
  /** The versions of its API, such as `1.40` to `1.56`; null if the engine does not report it. */
  api: { oldest: string; newest: string } | null;
}

/** A container's definition as the engine's API takes it, and its name. */
export type ContainerSpec = {
  name: string;
  Image: string;
  Cmd?: string[];
  Env?: string[];
  Labels?: Record<string, string>;
  StopTimeout?: number;
  HostConfig?: { Mounts?: MountSpec[]; [key: string]: unknown };
};

export interface MountSpec {
  Type: 'bind' | 'volume';
  Source: string;
  Target: string;
  ReadOnly?: boolean;
}

/** An image in a registry. */
export interface RemoteImage {
  digest: string;
  /** As a service of a Swarm needs them; none if the registry does not report them. */
  platforms: readonly Json[];
}

interface PullRequest {
  repository: string;
  /** Or a digest. */
  tag: string;
  login: RegistryLogin | null;
  onProgress: (progress: PullProgress) => void;
  signal: AbortSignal;
}

/** A mount of a container. */
export interface NamedMount {
  /** The volume's name; empty for a bind. */
  volume: string;
  /** On the host. */
  source: string;
  destination: string;
}

const usualTimeouts: EngineTimeouts = {
  query: 5_000,
  registry: 30_000,
  work: 60_000,
  start: 60_000,
  pullSilence: 300_000,
  logSilence: 60_000,
};
const containerName = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;
/** A node may be away. */
const lastLinesMs = 10_000;
/** A project may have hundreds of containers, and a socket accepts a limited number of connections. */
const atATime = 32;

/** All methods throw EngineError, those of the updater's engine also UpdateError with an EngineError as its cause. */
export class EngineApi {
  /** Of the socket, or the address in its place. */
  readonly path: string;
  protected readonly client: EngineClient;
  readonly #timeouts: EngineTimeouts;

  /**
   * @param place a socket's path, `unix://…` or `tcp://…`
   * @throws TypeError for an address of another kind
   */
  constructor(place: string, more: { client?: EngineClient; timeouts?: Partial<EngineTimeouts> } = {}) {
    this.path = place.replace(/^unix:\/\//, '');
    this.#timeouts = { ...usualTimeouts, ...more.timeouts };
    this.client = more.client ?? new EngineClient(targetAt(place), this.#timeouts.query);
  }

  /** Whether Podman responds instead of Docker's engine. Known after the first call. */
  get isPodman(): boolean {
    return isPodman(this.client.about ?? {});
  }

  /** The version of the API that the engine and this program use; empty if the engine does not report it. */
  get apiVersion(): string {
    return this.client.apiVersion;
  }

  /** Sends a call. @throws EngineError for a status that is not accepted */
  async request(name: EngineCallName, options: CallOptions = {}): Promise<EngineAnswer> {
    const call: EngineCall = engineCalls[name];
    const answer = await this.exchange(call, this.#questionOf(call, options));
    if (answer.status < 300) return answer;
    const shown = options.isSecret ? { ...answer, body: Buffer.alloc(0) } : answer;
    const error = refusalError(fillIn(call.call, options), shown);
    if (call.accepted?.includes(answer.status) && error.code !== 'refused-by-proxy') return answer;
    throw this.explain(error, purposeOf(call, options));
  }

  /** Sends a call whose response is a stream. @throws EngineError */
  async open(name: EngineCallName, options: CallOptions, silenceMs: number): Promise<EngineStream> {
    return this.openStream(this.#questionOf(engineCalls[name], options), silenceMs);
  }

  protected openStream(question: EngineQuestion, silenceMs: number): Promise<EngineStream> {
    return this.client.open(question, silenceMs);
  }

  protected exchange(_: EngineCall, question: EngineQuestion): Promise<EngineAnswer> {
    return this.client.ask(question);
  }

  /** The error that callers get. @param _purpose what the engine failed to do; undefined if there was no usable response */
  protected explain(error: EngineError, _purpose?: string): Error {
    return error;
  }

  /** Reads a response. One of another form is not an engine's. */
  #read<T, R>(raw: T, read: (raw: T) => R): R {
    try {
      return read(raw);
    } catch (cause) {
      const message = `this is not an answer of an engine: ${(cause as Error).message}`;
      throw this.explain(new EngineError('not-an-engine', message, { cause }));
    }
  }

  /** It has the version of the API for all other calls. */
  async getFacts(): Promise<EngineFacts> {
    const {
      Version,
      Os,
      Arch,
      MinAPIVersion: oldest,
      ApiVersion: newest,
    } = await this.#getJson('getVersion');
    return {
      version: String(Version),
      platform: Os && Arch ? `${Os}/${Arch}` : '',
      api: isVersion(oldest) && isVersion(newest) ? { oldest, newest } : null,
    };
  }

  /** Settings of the engine and its kernel; empty if the engine does not report them. */
  async getInfo(): Promise<Json> {
    const found = await this.#getJson('getInfo').catch(unless(...rejections));
    return found ?? {};
  }

  /** Whether the engine answers the first request of docker's commands; a proxy may block it. */
  async answersPing(): Promise<boolean> {
    const answer = await this.request('ping').catch(unless(...rejections));
    return answer !== null && answer.apiVersion !== '';
  }

  /** Containers by the engine's filters, stopped ones too. */
  async listContainers(filters: Filters): Promise<ListedContainer[]> {
    return this.#read(await this.#listAll(filters), (all) => all.map(readListed));
  }

  /** Binds and volumes of all containers, stopped ones too, that contain a path. */
  async listMounts(path: string): Promise<NamedMount[]> {
    const mounts = (await this.#listAll({})).flatMap((raw) => list<Json>(object(raw).Mounts));
    return mounts.flatMap(({ Type, Name, Source, Destination }): NamedMount[] => {
      const isStored = (Type === 'bind' || Type === 'volume') && !!Source;
      const destination = String(Destination ?? '');
      if (!isStored || !isWithin(path, destination)) return [];
      return [{ volume: Type === 'volume' ? String(Name) : '', source: String(Source), destination }];
    });
  }

  async #listAll(filters: Filters): Promise<unknown[]> {
    const { body } = await this.request('listContainers', { query: { all: '1' }, filters });
    return this.#read(body, (bytes) => listOf(JSON.parse(bytes.toString())));
  }

  /** By id or name; null if there is none. */
  async inspectContainer(name: string): Promise<Container | null> {
    const [raw] = await this.inspectRaw([name]);
    return raw === undefined ? null : this.#read(raw, readComplete);
  }

  /** By id or name; missing containers are left out. */
  async inspectContainers(names: readonly string[]): Promise<Container[]> {
    return (await this.inspectRaw(names)).map(readContainer);
  }

  /** All containers that are up. Podman has no filter for some states. */
  async inspectRunning(): Promise<Container[]> {
    return this.inspectContainers((await this.listContainers({})).filter(isUp).map(({ id }) => id));
  }

  /** The engine's own JSON of containers by id or name; missing containers are left out. Values of the environment are in it. */
  async inspectRaw(names: readonly string[]): Promise<Json[]> {
    // The engine sends a redirect for an odd path.
    const possible = names.filter((name) => containerName.test(name));
    const found: Json[] = [];
    for (let at = 0; at < possible.length; at += atATime) {
      const group = possible.slice(at, at + atATime).map((id) => this.#inspectOne(id));
      found.push(...(await Promise.all(group)).filter((raw) => raw !== null));
    }
    return found;
  }

  async #inspectOne(id: string): Promise<Json | null> {
    const { status, body } = await this.request('inspectContainer', { params: { id } });
    if (status === 404) return null;
    const raw = this.#read(body, objectIn);
    return this.isPodman ? inDockersWords(raw) : raw;
  }

  /** The container that this process runs in; null if the engine has none. */
  findOwnContainer(traces: OwnTraces): Promise<Container | null> {
    const inNetworkOf = async (id: string) => {
      const running = await this.listContainers({ status: ['running'] });
      // Podman reports the network of an inspected container, and not in a list.
      const isTold = running.some(({ networkMode }) => networkMode !== '');
      const told = isTold ? running : await this.inspectContainers(running.map((each) => each.id));
      return told.flatMap((each) => (each.networkMode === `container:${id}` ? [each.id] : []));
    };
    return findOwnContainer({ inspect: (name) => this.inspectContainer(name), inNetworkOf }, traces);
  }

  /** Gives the new container's id. @throws EngineError conflict if the name is taken */
  async createContainer(
    { name, platform, ...body }: Json & { name?: string; platform?: string | null; Image: string },
    more: Pick<CallOptions, 'deadlineMs'> = {},
  ): Promise<string> {
    const query = { ...(name !== undefined && { name }), ...(platform && { platform }) };
    const made = await this.request('createContainer', {
      ...more,
      query,
      body,
      params: { image: String(body.Image) },
    });
    return this.#read(made.body, (bytes) => textOf(objectIn(bytes).Id));
  }

  /** Does nothing for a running container. */
  async startContainer(id: string, more: Pick<CallOptions, 'deadlineMs'> = {}): Promise<void> {
    await this.request('startContainer', { ...more, params: { id } });
  }

  /**
   * Stops containers, all at a time. There is no deadline, because each has its own grace period. A container that is gone
   * counts as stopped.
   * @param graces seconds by id, in place of a container's own grace period
   */
  async stopContainers(
    ids: readonly string[],
    graces: ReadonlyMap<string, number> = new Map(),
  ): Promise<void> {
    const stop = (id: string) => {
      const grace = graces.get(id);
      return this.request('stopContainer', {
        params: { id },
        ...(grace !== undefined && { query: { t: `${grace}` } }),
      });
    };
    await Promise.all(ids.map(stop));
  }

  /** Whether the container got the signal: false if it has ended or is gone. */
  async killContainer(id: string, signal: NodeJS.Signals): Promise<boolean> {
    const { status } = await this.request('killContainer', { params: { id }, query: { signal } });
    return status < 300;
  }

  async renameContainer(id: string, name: string): Promise<void> {
    await this.request('renameContainer', { params: { id }, query: { name } });
  }

  /** @param policy `no`, `unless-stopped`, `on-failure:3` */
  async setRestartPolicy(id: string, policy: string): Promise<void> {
    const [Name, most = '0'] = policy.split(':');
    const body = { RestartPolicy: { Name, MaximumRetryCount: Number(most) } };
    await this.request('setRestartPolicy', { params: { id }, body });
  }

  /**
   * Removes a container, by force also a running one. A container that is gone counts as removed.
   * @param keepsVolumes its anonymous volumes, which another container may share
   * @throws EngineError conflict if it is running, or being removed by another client
   */
  async removeContainer(id: string, { force = false, keepsVolumes = false } = {}): Promise<void> {
    const query = { ...(!keepsVolumes && { v: '1' }), ...(force && { force: '1' }) };
    await this.request('removeContainer', { params: { id }, query });
  }

  /** Removes containers, also running ones, and keeps their volumes, because other containers may share them. */
  async removeContainers(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.removeContainer(id, { force: true, keepsVolumes: true })));
  }

  /** Connects a container, running or not, to a network. @param endpoint in the engine's own form */
  async connectNetwork(network: string, id: string, endpoint: Json): Promise<void> {
    const body = { Container: id, EndpointConfig: endpoint };
    await this.request('connectNetwork', { params: { network }, body });
  }

  /**
   * Unpacks a tar archive at the root of a container.
   * @param files what is copied, for the message
   */
  async putArchive(id: string, body: Buffer, { files = 'an archive', isSecret = false } = {}): Promise<void> {
    await this.request('putArchive', { params: { id, files }, query: { path: '/' }, body, isSecret });
  }

  /** The lines of a container's log from its first one on, until the container ends or the signal is given. */
  async *followLog(id: string, signal: AbortSignal): AsyncGenerator<string> {
    const query = { follow: '1', stdout: '1', stderr: '1' };
    try {
      const { chunks } = await this.open(
        'readLog',
        { params: { id }, query, signal },
        this.#timeouts.logSilence,
      );
      yield* linesOfStream(logText(chunks));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /**
   * The last lines of the log of a container, or of a task on any node of a Swarm: those that came in time, and before an error.
   * @throws EngineError if there are none; the reason of the signal
   */
  async readLastLines(
    name: 'readLog' | 'readTaskLog',
    id: string,
    { count, signal }: { count: number; signal: AbortSignal },
  ): Promise<string[]> {
    const query = { stdout: '1', stderr: '1', tail: `${count}` };
    const late = AbortSignal.timeout(lastLinesMs);
    const lines: string[] = [];
    try {
      const options = { params: { id }, query, signal: AbortSignal.any([signal, late]) };
      const { chunks } = await this.open(name, options, this.#timeouts.query);
      for await (const line of linesOfStream(logText(chunks))) {
        if (line !== '') lines.push(line);
        // A log driver may ignore the count.
        if (lines.length > count) lines.shift();
      }
    } catch (error) {
      signal.throwIfAborted();
      if (lines.length > 0) return lines;
      if (!late.aborted) throw error;
      throw new EngineError('late', `the engine did not send the log within ${lastLinesMs / 1000} s`);
    }
    return lines;
  }

  /** Local images by the engine's filters, each with all its references. */
  async listImages(filters: Filters) {
    const { body } = await this.request('listImages', { filters });
    const images = this.#read(body, (bytes) => listOf(JSON.parse(bytes.toString()))) as Json[];
    return images.map(({ Id, RepoTags, RepoDigests, Size }) => ({
      id: String(Id),
      // The containerd store lists the digest of a pull as a tag, too.
      ...{ tags: strings(RepoTags).filter((tag) => !tag.includes('@')), digests: strings(RepoDigests) },
      size: Number(Size ?? 0),
    }));
  }

  /** Tags that begin with a prefix. */
  async listTags(prefix: string): Promise<string[]> {
    const images = await this.listImages({ reference: [`${prefix}*`] });
    return images.flatMap(({ tags }) => tags).filter((tag) => tag.startsWith(prefix));
  }

  /**
   * A local image by reference or id, with its manifests (API 1.48 on); null if it is not here. For an index of which only
   * other platforms are here, the engine reports a configuration only if one of them is named (API 1.49 on).
   */
  async inspectImage(reference: string): Promise<Image | null> {
    const inspect = async (query: Record<string, string>) => {
      const { status, body } = await this.request('inspectImage', { params: { reference }, query });
      return status === 404 ? null : this.#read(body, objectIn);
    };
    // Older engines ignore this parameter.
    const raw = await inspect({ manifests: '1' });
    if (raw === null) return null;
    const other = raw.Os ? undefined : platformHere(raw);
    const named = other === undefined ? raw : await inspect({ platform: JSON.stringify(other) });
    const { Os = '', Architecture, Config } = object(named);
    const image = other === undefined ? readImage(raw) : readImage({ ...raw, Os, Architecture, Config });
    return { ...image, ...(this.isPodman && { isUnclear: true }) };
  }

  /** The same in the order of the references. */
  inspectImages(references: readonly string[]): Promise<(Image | null)[]> {
    return Promise.all(references.map((each) => this.inspectImage(each)));
  }

  /** Points a tag to a local image. @param reference `repository:tag` */
  async tagImage(id: string, reference: string): Promise<void> {
    const [, repo = reference, tag = 'latest'] = /^(.*):([^:/]*)$/.exec(reference) ?? [];
    await this.request('tagImage', { params: { reference: id }, query: { repo, tag } });
  }

  /**
   * Removes a tag, and its image if nothing else uses it.
   * @param keepsParents untagged parents of the image
   */
  async removeImage(reference: string, { keepsParents = false } = {}): Promise<void> {
    const query: Record<string, string> = keepsParents ? { noprune: '1' } : {};
    await this.request('removeImage', { params: { reference }, query });
  }

  /** The image that a tag points to in its registry. @throws EngineError whose message is the registry's or the engine's */
  async inspectRemoteImage(reference: string, login: RegistryLogin | null): Promise<RemoteImage> {
    const headers = loginHeaders(login);
    const { body } = await this.request('inspectRemoteImage', { params: { reference }, headers });
    return this.#read(body, (bytes) => {
      const { Descriptor, Platforms } = objectIn(bytes);
      // As `docker stack deploy` writes them: of arm, each node finds the one that it can run.
      const platforms = list<Json>(Platforms).flatMap(({ architecture, os }) =>
        os === 'unknown' ? [] : [{ Architecture: architecture === 'arm' ? '' : architecture, OS: os }],
      );
      return { digest: textOf(object(Descriptor).digest), platforms };
    });
  }

  /** Pulls an image. @throws EngineError with the message of the registry or the engine; the signal's reason */
  async pullImage({ repository, tag, login, onProgress, signal }: PullRequest): Promise<void> {
    const query = { fromImage: repository, tag };
    const meter = new PullMeter();
    const options = { query, headers: loginHeaders(login), signal };
    await this.#readLines('pullImage', options, this.#timeouts.pullSilence, (event) => {
      const progress = meter.add(event);
      if (progress) onProgress(progress);
    });
    signal.throwIfAborted();
    if (!meter.hasEnded)
      throw new EngineError('unreachable', 'the answer was interrupted before the pull finished');
  }

  /** Loads the images of a tar archive. @throws EngineError with the engine's message; the signal's reason */
  async loadImages(body: Readable, signal: AbortSignal): Promise<void> {
    const options = { query: { quiet: '1' }, body, signal };
    await this.#readLines('loadImages', options, Number.POSITIVE_INFINITY, () => {});
  }

  async #readLines(
    name: EngineCallName,
    options: CallOptions,
    silenceMs: number,
    onEvent: (event: Json) => void,
  ): Promise<void> {
    const { chunks } = await this.open(name, options, silenceMs);
    for await (const event of objectsOf(chunks)) {
      const error = event.error ?? object(event.errorDetail).message;
      if (typeof error === 'string') throw new EngineError('refused', error, { status: 500 });
      onEvent(event);
    }
  }

  /** Networks by name; two may have the same one. */
  async listNetworks(names: readonly string[]) {
    if (names.length === 0) return [];
    const { body } = await this.request('listNetworks', { filters: { name: names } });
    return definedOnes(JSON.parse(body.toString()), names);
  }

  /** Volumes by name. */
  async listVolumes(names: readonly string[]) {
    if (names.length === 0) return [];
    return definedOnes((await this.#getJson('listVolumes', { filters: { name: names } })).Volumes, names);
  }

  async #getJson(name: EngineCallName, options: CallOptions = {}): Promise<Json> {
    return this.#read((await this.request(name, options)).body, objectIn);
  }

  #questionOf(
    call: EngineCall,
    { params = {}, query, filters, isSecret: _, ...more }: CallOptions,
  ): EngineQuestion {
    const [method, filled] = fillIn(call.call, { params }).split(' ') as [EngineQuestion['method'], string];
    const parameters = `${new URLSearchParams({ ...query, ...(filters && { filters: JSON.stringify(filters) }) })}`;
    const { deadline = 'query' } = call;
    const timeouts = { ...this.#timeouts, none: Number.POSITIVE_INFINITY };
    const deadlineMs = typeof deadline === 'number' ? deadline : timeouts[deadline];
    return { method, path: filled + (parameters && `?${parameters}`), deadlineMs, ...more };
  }
}

const fillIn = (text: string, { params = {} }: CallOptions): string =>
  text.replaceAll(/\{(\w+)\}/g, (_, key) => inPath(params[key] ?? ''));

const purposeOf = ({ call, purpose }: EngineCall, { params = {} }: CallOptions): string =>
  purpose?.replaceAll(/\{(\w+)\}/g, (_, key) =>
    (params[key] ?? '').replace(/^([0-9a-f]{12})[0-9a-f]{52}$/, '$1'),
  ) ?? `answer (${fillIn(call, { params })})`;

function targetAt(place: string): () => EngineTarget {
  const target = engineTarget(place.startsWith('/') ? `unix://${place}` : place);
  return () => target;
}

const inPath = (text: string): string => text.split('/').map(encodeURIComponent).join('/');
const objectIn = (body: Buffer): Json => {
  const value = JSON.parse(body.toString());
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError('no object');
  return value;
};

function readComplete(raw: Json): Container {
  const container = readContainer({ ...raw, Id: textOf(raw.Id) });
  if (Number.isNaN(Date.parse(container.createdAt))) throw new TypeError(`created at ${container.createdAt}`);
  return container;
}

const platformHere = ({ Manifests }: Json): unknown =>
  list<Json>(Manifests).flatMap(({ Available, ImageData }) =>
    Available ? (object(ImageData).Platform ?? []) : [],
  )[0];

/** Networks or volumes. The engine's filter also returns those whose names contain one of these names. */
const definedOnes = (listed: unknown, names: readonly string[]) =>
  (list(listed) as { Name: string; Labels?: Record<string, string> | null; Options?: Json | null }[])
    .filter(({ Name }) => names.includes(Name))
    .map(({ Name, Labels, Options }) => ({
      name: Name,
      /** The hash of the definition that compose created it from; null if another program created it. */
      hash: Labels?.[composeLabels.configHash] || null,
      /** Of its driver. */
      options: Options ?? {},
    }));
