import type { Readable } from 'node:stream';
import { isWithin } from '../core/mounts/host-paths.ts';
import {
  type EngineVersionInfo,
  type ImagePullRequest,
  type ListedMount,
  localPlatformOf,
  parseContainer,
  type RemoteImage,
  selectByExactNames,
  toListedMounts,
  toRemoteImage,
} from './api-objects.ts';
import {
  type EngineFilters,
  type EngineRequestOptions,
  EngineRequestSender,
  parseJsonBody,
} from './engine-request-sender.ts';
import { isApiVersion } from './http/api-version.ts';
import { EngineError, rejectionCodes, tolerateErrors } from './http/engine-error.ts';
import { decodeLines, decodeLog } from './http/lines.ts';
import {
  type Container,
  type Image,
  isUp,
  type ListedContainer,
  toContainer,
  toImage,
  toListedContainer,
} from './objects/container.ts';
import {
  type Json,
  requireList,
  requireNonEmptyString,
  toList,
  toObject,
  toStrings,
} from './objects/json.ts';
import { toDockerInspection } from './objects/podman.ts';
import { PullProgressMeter } from './registry/pull-progress.ts';
import { type RegistryCredentials, toCredentialHeaders } from './registry/registry-credentials.ts';
import { findOwnContainer, type OwnContainerClues } from './self/find-own-container.ts';

const containerName = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;
/** Timeout for reading the last lines of a log, because the node of a Swarm task may be offline. */
const lastLinesMs = 10_000;
/**
 * Maximum number of containers inspected in parallel, because a socket accepts only a limited number of connections.
 */
const atATime = 32;

/**
 * Client for the engine's API. Methods throw EngineError. In the subclass `Engine`, they may also throw UpdateError
 * with an EngineError as its cause.
 */
export class EngineApi extends EngineRequestSender {
  async getFacts(): Promise<EngineVersionInfo> {
    const { Version, Os, Arch, MinAPIVersion: oldest, ApiVersion: newest } = await this.getJson('getVersion');
    return {
      version: String(Version),
      platform: Os && Arch ? `${Os}/${Arch}` : '',
      api: isApiVersion(oldest) && isApiVersion(newest) ? { oldest, newest } : null,
    };
  }

  /** Returns the response to `GET /info`; `{}` if a proxy or the engine rejects the request. */
  async getInfo(): Promise<Json> {
    const found = await this.getJson('getInfo').catch(tolerateErrors(...rejectionCodes));
    return found ?? {};
  }

  /** Checks whether a ping succeeds: a proxy may block pings, and every docker command begins with one. */
  async canPing(): Promise<boolean> {
    const response = await this.request('ping').catch(tolerateErrors(...rejectionCodes));
    return response !== null && response.apiVersion !== '';
  }

  /** Lists matching containers, including stopped ones. */
  async listContainers(filters: EngineFilters): Promise<ListedContainer[]> {
    return this.parse(await this.#listAll(filters), (all) => all.map(toListedContainer));
  }

  /**
   * Lists the bind mounts and volumes that running or stopped containers have mounted at the path or at one of its
   * parents.
   */
  async listMounts(path: string): Promise<ListedMount[]> {
    const mounts = (await this.#listAll({})).flatMap((raw) => toList<Json>(toObject(raw).Mounts));
    return mounts.flatMap(toListedMounts).filter(({ destination }) => isWithin(path, destination));
  }

  async #listAll(filters: EngineFilters): Promise<unknown[]> {
    const { body } = await this.request('listContainers', { query: { all: '1' }, filters });
    return this.parse(body, (bytes) => requireList(JSON.parse(bytes.toString())));
  }

  /** Inspects a container by id or name; null if it does not exist. */
  async inspectContainer(name: string): Promise<Container | null> {
    const [raw] = await this.inspectRaw([name]);
    return raw === undefined ? null : this.parse(raw, parseContainer);
  }

  /** Inspects containers by id or name. Missing containers are left out. */
  async inspectContainers(names: readonly string[]): Promise<Container[]> {
    return (await this.inspectRaw(names)).map(toContainer);
  }

  /**
   * Inspects running, restarting and paused containers, except those with the given ids. Selects them here, because
   * Podman lacks filters for some of these states.
   */
  async inspectRunning(except: ReadonlySet<string> = new Set()): Promise<Container[]> {
    const running = (await this.listContainers({})).filter((each) => isUp(each) && !except.has(each.id));
    return this.inspectContainers(running.map(({ id }) => id));
  }

  /**
   * Inspects containers by id or name; missing containers are left out. Never log the JSON, because it contains the
   * values of environment variables.
   */
  async inspectRaw(names: readonly string[]): Promise<Json[]> {
    // Omit names that no container can have, because the engine would redirect the request.
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
    const raw = this.parse(body, parseJsonBody);
    return this.isPodman ? toDockerInspection(raw) : raw;
  }

  /** Finds the container in which this process runs; null if the engine has no such container. */
  findOwnContainer(traces: OwnContainerClues): Promise<Container | null> {
    const inNetworkOf = async (id: string) => {
      const running = await this.listContainers({ status: ['running'] });
      // Inspect the containers if the list has no network modes, as with Podman.
      const isTold = running.some(({ networkMode }) => networkMode !== '');
      const told = isTold ? running : await this.inspectContainers(running.map((each) => each.id));
      return told.flatMap((each) => (each.networkMode === `container:${id}` ? [each.id] : []));
    };
    return findOwnContainer(
      { inspect: (name) => this.inspectContainer(name), listNetworkUsers: inNetworkOf },
      traces,
    );
  }

  /** Creates a container and returns its id. @throws EngineError conflict if the name is taken */
  async createContainer(
    { name, platform, ...body }: Json & { name?: string; platform?: string | null; Image: string },
    more: Pick<EngineRequestOptions, 'deadlineMs'> = {},
  ): Promise<string> {
    const query = { ...(name !== undefined && { name }), ...(platform && { platform }) };
    const made = await this.request('createContainer', {
      ...more,
      query,
      body,
      params: { image: String(body.Image) },
    });
    return this.parse(made.body, (bytes) => requireNonEmptyString(parseJsonBody(bytes).Id));
  }

  /** Starts a container. Succeeds if the container is already running. */
  async startContainer(id: string, more: Pick<EngineRequestOptions, 'deadlineMs'> = {}): Promise<void> {
    await this.request('startContainer', { ...more, params: { id } });
  }

  /**
   * Stops containers in parallel; a missing container counts as stopped. There is no deadline, because each container
   * has its own grace period.
   * @param graces - grace periods in seconds, keyed by container id; by default, each container's own
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

  /** Sends a signal to a container; returns false if the container has exited or does not exist. */
  async killContainer(id: string, signal: NodeJS.Signals): Promise<boolean> {
    const { status } = await this.request('killContainer', { params: { id }, query: { signal } });
    return status < 300;
  }

  async renameContainer(id: string, name: string): Promise<void> {
    await this.request('renameContainer', { params: { id }, query: { name } });
  }

  /** @param policy - such as `no`, `unless-stopped` or `on-failure:3` */
  async setRestartPolicy(id: string, policy: string): Promise<void> {
    const [Name, most = '0'] = policy.split(':');
    const body = { RestartPolicy: { Name, MaximumRetryCount: Number(most) } };
    await this.request('setRestartPolicy', { params: { id }, body });
  }

  /**
   * Removes a container. A running container is removed only with `force`; a missing container counts as removed.
   * @param keepsVolumes - whether to keep the container's anonymous volumes, which another container may share
   * @throws EngineError conflict if the container is running, or another client is removing it
   */
  async removeContainer(id: string, { force = false, keepsVolumes = false } = {}): Promise<void> {
    const query = { ...(!keepsVolumes && { v: '1' }), ...(force && { force: '1' }) };
    await this.request('removeContainer', { params: { id }, query });
  }

  /** Removes containers, running or not. Keeps their anonymous volumes, which other containers may share. */
  async removeContainers(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.removeContainer(id, { force: true, keepsVolumes: true })));
  }

  /**
   * Connects a container, running or not, to a network.
   * @param endpoint - `EndpointConfig` of the engine's API
   */
  async connectNetwork(network: string, id: string, endpoint: Json): Promise<void> {
    const body = { Container: id, EndpointConfig: endpoint };
    await this.request('connectNetwork', { params: { network }, body });
  }

  /**
   * Unpacks a tar archive at the root of a container.
   * @param files - description of the files for the error message
   */
  async putArchive(id: string, body: Buffer, { files = 'an archive', isSecret = false } = {}): Promise<void> {
    await this.request('putArchive', { params: { id, files }, query: { path: '/' }, body, isSecret });
  }

  /** Yields a container's log lines from the beginning, until the container exits or the signal is aborted. */
  async *followLog(id: string, signal: AbortSignal): AsyncGenerator<string> {
    const query = { follow: '1', stdout: '1', stderr: '1' };
    try {
      const { chunks } = await this.open(
        'readLog',
        { params: { id }, query, signal },
        this.timeouts.logSilence,
      );
      yield* decodeLines(decodeLog(chunks));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /**
   * Reads the last log lines of a container, or of a Swarm task. After an error or a timeout, returns the lines
   * received so far.
   * @throws EngineError if no line was received; the signal's reason
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
      const { chunks } = await this.open(name, options, this.timeouts.query);
      for await (const line of decodeLines(decodeLog(chunks))) {
        if (line !== '') lines.push(line);
        // Some log drivers ignore `tail` and send the whole log.
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

  /** Lists matching local images, each with all its tags and digests. */
  async listImages(filters: EngineFilters) {
    const { body } = await this.request('listImages', { filters });
    const images = this.parse(body, (bytes) => requireList(JSON.parse(bytes.toString()))) as Json[];
    return images.map(({ Id, RepoTags, RepoDigests, Size }) => ({
      id: String(Id),
      // The containerd image store also lists a pulled image's digest as a tag.
      ...{ tags: toStrings(RepoTags).filter((tag) => !tag.includes('@')), digests: toStrings(RepoDigests) },
      size: Number(Size ?? 0),
    }));
  }

  async listTags(prefix: string): Promise<string[]> {
    const images = await this.listImages({ reference: [`${prefix}*`] });
    return images.flatMap(({ tags }) => tags).filter((tag) => tag.startsWith(prefix));
  }

  /**
   * Inspects a local image by reference or id; null if the image is not local. Since API 1.48, the result includes the
   * image's manifests.
   */
  async inspectImage(reference: string): Promise<Image | null> {
    const inspect = async (query: Record<string, string>) => {
      const { status, body } = await this.request('inspectImage', { params: { reference }, query });
      return status === 404 ? null : this.parse(body, parseJsonBody);
    };
    // Engines before API 1.48 ignore the parameter `manifests`.
    const raw = await inspect({ manifests: '1' });
    if (raw === null) return null;
    // Since API 1.49, the engine reports no configuration if the image is not local for the engine's platform. In this
    // case, request the configuration for another local platform.
    const other = raw.Os ? undefined : localPlatformOf(raw);
    const named = other === undefined ? raw : await inspect({ platform: JSON.stringify(other) });
    const { Os = '', Architecture, Config } = toObject(named);
    const image = other === undefined ? toImage(raw) : toImage({ ...raw, Os, Architecture, Config });
    return { ...image, ...(this.isPodman && { isUnclear: true }) };
  }

  /** Returns the images in the order of the references; null for each image that is not local. */
  inspectImages(references: readonly string[]): Promise<(Image | null)[]> {
    return Promise.all(references.map((each) => this.inspectImage(each)));
  }

  /** @param reference - `repository:tag` */
  async tagImage(id: string, reference: string): Promise<void> {
    const [, repo = reference, tag = 'latest'] = /^(.*):([^:/]*)$/.exec(reference) ?? [];
    await this.request('tagImage', { params: { reference: id }, query: { repo, tag } });
  }

  /**
   * Removes a tag, and its image if nothing else uses the image.
   * @param keepsParents - whether to keep untagged parents of the image
   */
  async removeImage(reference: string, { keepsParents = false } = {}): Promise<void> {
    const query: Record<string, string> = keepsParents ? { noprune: '1' } : {};
    await this.request('removeImage', { params: { reference }, query });
  }

  /**
   * Fetches an image's digest and platforms from its registry.
   * @throws EngineError with the message of the registry or the engine
   */
  async inspectRemoteImage(reference: string, login: RegistryCredentials | null): Promise<RemoteImage> {
    const headers = toCredentialHeaders(login);
    const { body } = await this.request('inspectRemoteImage', { params: { reference }, headers });
    return this.parse(body, (bytes) => toRemoteImage(parseJsonBody(bytes)));
  }

  /** @throws EngineError with the message of the registry or the engine; the signal's reason */
  async pullImage({
    repository,
    tag,
    credentials: login,
    onProgress,
    signal,
  }: ImagePullRequest): Promise<void> {
    const query = { fromImage: repository, tag };
    const meter = new PullProgressMeter();
    const options = { query, headers: toCredentialHeaders(login), signal };
    await this.readEvents('pullImage', options, this.timeouts.pullSilence, (event) => {
      const progress = meter.addEvent(event);
      if (progress) onProgress(progress);
    });
    signal.throwIfAborted();
    if (!meter.hasEnded)
      throw new EngineError('unreachable', 'the answer was interrupted before the pull finished');
  }

  /** Loads the images in a tar archive. @throws EngineError with the engine's message; the signal's reason */
  async loadImages(body: Readable, signal: AbortSignal): Promise<void> {
    const options = { query: { quiet: '1' }, body, signal };
    await this.readEvents('loadImages', options, Number.POSITIVE_INFINITY, () => {});
  }

  /** Returns the networks with these names. Several networks may have the same name. */
  async listNetworks(names: readonly string[]) {
    if (names.length === 0) return [];
    const { body } = await this.request('listNetworks', { filters: { name: names } });
    return selectByExactNames(JSON.parse(body.toString()), names);
  }

  async listVolumes(names: readonly string[]) {
    if (names.length === 0) return [];
    return selectByExactNames(
      (await this.getJson('listVolumes', { filters: { name: names } })).Volumes,
      names,
    );
  }
}
