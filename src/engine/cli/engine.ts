// Extends the engine's API with compose and stack commands, which only docker's own programs can run.

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CancelledError, InterruptedError } from '../../core/cancellation/cancelled.ts';
import { UpdateError } from '../../core/errors/update-error.ts';
import { EngineApi } from '../engine-api.ts';
import type { EngineCall, EngineTimeouts } from '../engine-calls.ts';
import type { EngineFilters } from '../engine-request-sender.ts';
import { EngineClient } from '../http/client.ts';
import { type EngineConnection, parseEngineConnection } from '../http/engine-connection.ts';
import {
  createResponseError,
  EngineError,
  findEngineError,
  isProxyBackendUnreachable,
} from '../http/engine-error.ts';
import {
  type EngineRequest,
  type EngineResponse,
  type EngineStream,
  requestNameOf,
} from '../http/request.ts';
import type { ListedContainer } from '../objects/container.ts';
import { proxyAdvice } from '../proxy-error.ts';
import { type RegistryCredentials, readRegistryCredentials } from '../registry/registry-credentials.ts';
import { chooseDockerProgram } from './docker-program.ts';
import { isConnectionLost } from './is-connection-lost.ts';
import { logTiming } from './log-timing.ts';
import { filterContainers, ResponseCache } from './response-cache.ts';
import { type CommandOptions, type CommandResult, runCommand } from './run-command.ts';

/** Digest of a tag in its registry; `none` if the registry has no such tag; null if the digest is unknown. */
export type RemoteDigest = { digest: string } | 'none' | null;

/**
 * Address of the engine. Commands receive it in flags, not in environment variables, which compose could pass on to
 * services.
 */
interface EngineAddress {
  /** Socket or TCP address, such as `unix:///var/run/docker.sock`. */
  host: string;
  /** TLS flags for a TCP connection, such as `--tlsverify`. */
  tls: readonly string[];
  /** Directory of the updater's own config.json. */
  configDirectory: string;
}

/** Options of a docker command. `env` is added to PATH and HOME. */
interface DockerCommandOptions extends Partial<Omit<CommandOptions, 'signal'>> {
  /** Whether to repeat the command after an engine outage; true by default. Must be false if repeating is unsafe. */
  repeatable?: boolean;
}

const queryDeadlineMs = 30_000;
const timeouts: EngineTimeouts = {
  query: queryDeadlineMs,
  registry: 15_000,
  work: queryDeadlineMs,
  // A busy engine may take a long time to start a container.
  start: 900_000,
  pullSilence: 300_000,
  logSilence: 60_000,
};
const awayMs = 60_000;
/**
 * If an outage lasts this long, a deleted socket counts as lost. Without live-restore, an engine restart stops this
 * process earlier.
 */
const lostSocketMs = 10_000;
const maxAttempts = 3;
/**
 * Maximum attempts for a read to which the engine responds with a status of 500 or more. This may happen while a
 * container is being removed.
 */
const maxReadings = 20;
const readingPauseMs = 250;
/**
 * Timeout for checking whether the engine responds. While the engine starts or stops, it accepts connections but does
 * not respond.
 */
const probeMs = 4_000;
const probePauseMs = 1_000;

interface EngineOptions {
  /** Value of HOME for docker and compose. */
  home: string;
  /** Cancels calls in progress. */
  signal?: AbortSignal | undefined;
  /** Called with a message for the log when the engine stops responding, and when it responds again. */
  onAway?: (sentence: string) => void;
}

/** State shared by all views of an engine. */
interface SharedState {
  readonly client: EngineClient;
  hasAnswered: boolean;
  /**
   * Start of the current outage, from `performance.now()`; null while the engine responds. All views share this field,
   * so that each outage is logged only once.
   */
  awaySince: number | null;
  readonly shutdown: AbortController;
}

/**
 * Engine API with `docker` commands. If the engine stops responding, calls wait. Methods throw UpdateError with an
 * EngineError as its cause; streams throw EngineError.
 */
export class Engine extends EngineApi {
  readonly address: EngineAddress;
  readonly signal: AbortSignal | undefined;
  readonly #options: EngineOptions;
  readonly #shared: SharedState;
  #cache: ResponseCache | null = null;

  constructor(address: EngineAddress, options: EngineOptions, shared: SharedState = newState(address)) {
    super(address.host, { client: shared.client, timeouts });
    this.address = address;
    this.signal = options.signal;
    this.#options = options;
    this.#shared = shared;
  }

  /**
   * Returns a view without the abort signal, for work that must finish. Only an engine shutdown ends the view's calls.
   */
  uncancellable(): Engine {
    return new Engine(this.address, { ...this.#options, signal: undefined }, this.#shared);
  }

  /** Returns a view whose calls are also cancelled by this signal. */
  until(signal: AbortSignal): Engine {
    const both = AbortSignal.any([signal, ...(this.signal ? [this.signal] : [])]);
    return new Engine(this.address, { ...this.#options, signal: both }, this.#shared);
  }

  /** Returns a view that does not log outages, for work after the last line of a run's log. */
  quiet(): Engine {
    return new Engine(this.address, { ...this.#options, onAway: () => {} }, this.#shared);
  }

  /** Returns a view with another address, such as a socket in front of the engine. */
  at(address: EngineAddress): Engine {
    return new Engine(address, this.#options, this.#shared);
  }

  /**
   * Returns a view that sends each GET request only once, so that decisions that belong together are based on the same
   * state of the engine. Any other request of this view ends that. Streams and docker commands are not remembered.
   */
  cached(): Engine {
    const view = new Engine(this.address, this.#options, this.#shared);
    view.#cache = new ResponseCache();
    return view;
  }

  /** @throws UpdateError engine-unavailable if the address is invalid */
  get target(): EngineConnection {
    return targetOf(this.address);
  }

  /**
   * With a cache, requests one list of all containers and filters this list itself, because lists are slow: the engine
   * looks up an image for each container.
   */
  override async listContainers(filters: EngineFilters): Promise<ListedContainer[]> {
    const found = this.#cache && filterContainers(await super.listContainers({}), filters);
    return found ?? super.listContainers(filters);
  }

  protected override exchange(call: EngineCall, question: EngineRequest): Promise<EngineResponse> {
    const send = () => this.#exchange(call, question);
    return this.#cache?.exchange(question, send) ?? send();
  }

  /** If the engine stops responding, waits for it and repeats the request. */
  async #exchange(call: EngineCall, question: EngineRequest): Promise<EngineResponse> {
    const name = requestNameOf(question);
    const { repeat = question.method === 'GET' ? 'failed' : 'lost' } = call;
    let readings = 0;
    for (let attempt = 1; ; ) {
      try {
        const beganAt = performance.now();
        const response = await super.exchange(call, { ...question, signal: this.aborted });
        logTiming(name, beganAt, `status ${response.status}`);
        if (isProxyBackendUnreachable(response))
          throw new EngineError('unreachable', createResponseError(name, response).message);
        this.#noteAnswer();
        readings += 1;
        if (response.status < 500 || repeat !== 'failed' || readings >= maxReadings) return response;
        await sleep(readingPauseMs);
      } catch (cause) {
        if (this.aborted.aborted) throw this.abortError;
        if (!(cause instanceof EngineError)) throw cause;
        if (cause.code !== 'unreachable' && cause.code !== 'not-an-engine') throw this.toCallerError(cause);
        attempt += 1;
        if (attempt > maxAttempts || !this.#shared.hasAnswered) {
          const message = `the engine does not answer (${name}): ${cause.message}`;
          throw new UpdateError('engine-unavailable', message, { cause });
        }
        await this.#awaitReturn(cause);
      }
    }
  }

  protected override async openStream(question: EngineRequest, silenceMs: number): Promise<EngineStream> {
    const beganAt = performance.now();
    const stream = await super.openStream(question, silenceMs);
    logTiming(requestNameOf(question), beganAt, `status ${stream.status}`);
    return stream;
  }

  /**
   * If the connection is lost, waits for the engine and reads the lines again, because they may explain why an update
   * failed.
   */
  override async readLastLines(...requested: Parameters<EngineApi['readLastLines']>): Promise<string[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await super.readLastLines(...requested);
      } catch (error) {
        const isLost = error instanceof EngineError && error.code === 'unreachable';
        if (!isLost || attempt === maxAttempts || !this.#shared.hasAnswered) throw error;
        await this.#awaitReturn(error);
      }
    }
  }

  protected override toCallerError(cause: EngineError, purpose?: string): UpdateError {
    const { code, message } = cause;
    if (code === 'unsupported') return new UpdateError('engine-version', message, { cause });
    if (code === 'refused-by-proxy' && Number(cause.status) < 500)
      return new UpdateError('engine-unavailable', message, { cause, advice: proxyAdvice });
    const text = purpose === undefined ? message : `the engine failed to ${purpose}: ${message}`;
    return new UpdateError('engine-unavailable', text, { cause });
  }

  /**
   * Runs `docker …` and returns the result, whatever its exit code.
   * @throws UpdateError engine-unavailable if the engine stays unavailable
   */
  async call(args: readonly string[], options: DockerCommandOptions = {}): Promise<CommandResult> {
    const deadlineMs = options.deadlineMs ?? queryDeadlineMs;
    for (let attempt = 1; ; attempt++) {
      const result = await this.#run(args, { ...options, deadlineMs });
      if (result.aborted) throw this.abortError;
      if (result.timedOut && deadlineMs === queryDeadlineMs) {
        const message = `the engine did not answer within ${queryDeadlineMs / 1000} s (docker ${args[0]})`;
        throw new UpdateError('engine-unavailable', message);
      }
      const { hasAnswered } = this.#shared;
      if (result.exitCode === 0 || !hasAnswered || !isConnectionLost(result.stderr)) return result;
      await this.#awaitReturn();
      if (options.repeatable === false || attempt >= maxAttempts) return result;
    }
  }

  /** Returns the credentials for an image's registry from the updater's own configuration. */
  readOwnCredentials(repository: string): Promise<RegistryCredentials | null> {
    return readRegistryCredentials(repository, join(this.address.configDirectory, 'config.json'));
  }

  /**
   * Resolves a tag or digest in its registry. Returns null if the request fails, so that the run continues.
   * @throws CancelledError, InterruptedError
   */
  async findRemoteDigest({ repository, tag }: { repository: string; tag: string }): Promise<RemoteDigest> {
    const reference = `${repository}${tag.includes(':') ? '@' : ':'}${tag}`;
    try {
      const { digest } = await this.inspectRemoteImage(reference, await this.readOwnCredentials(repository));
      return { digest };
    } catch (error) {
      if (!(error instanceof UpdateError)) throw error;
      // Check the message too, because a server that is not a registry may also respond with 404.
      const { code, message } = findEngineError(error) ?? error;
      return code === 'not-found' && /manifest unknown|not found/i.test(message) ? 'none' : null;
    }
  }

  /** Checks whether the engine responds, even if this view's abort signal is aborted. */
  isResponding(signal?: AbortSignal): Promise<boolean> {
    const probe = {
      method: 'GET',
      path: '/version',
      deadlineMs: probeMs,
      ...(signal && { signal }),
    } as const;
    return this.client.sendRequest(probe).then(
      ({ status }) => status < 500,
      () => false,
    );
  }

  /**
   * Waits until the engine stops responding, then makes the calls in progress fail with InterruptedError. Call this
   * only after this process was asked to stop: an engine that then stops responding is shutting down.
   */
  async watchShutdown(): Promise<void> {
    while (await this.isResponding()) await sleep(probePauseMs, undefined, { ref: false });
    this.#shared.shutdown.abort(new InterruptedError());
  }

  /** Signal that is aborted with this view's abort signal, or when the engine shuts down. */
  get aborted(): AbortSignal {
    return AbortSignal.any([this.#shared.shutdown.signal, ...(this.signal ? [this.signal] : [])]);
  }

  /** Error for calls that were ended by `aborted`. */
  get abortError(): CancelledError | InterruptedError {
    return this.#shared.shutdown.signal.aborted ? new InterruptedError() : new CancelledError();
  }

  async #run(
    args: readonly string[],
    options: DockerCommandOptions & { deadlineMs: number },
  ): Promise<CommandResult> {
    const { host, tls, configDirectory } = this.address;
    const beganAt = performance.now();
    const { file, env } = chooseDockerProgram(args);
    const result = await runCommand(file, ['--config', configDirectory, '--host', host, ...tls, ...args], {
      ...options,
      env: {
        PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
        HOME: this.#options.home,
        ...env,
        ...options.env,
      },
      signal: this.aborted,
    });
    logTiming(`docker ${args.join(' ')}`, beganAt, `exit code ${result.exitCode}`);
    return result;
  }

  /**
   * Waits until the engine responds again, for example after an upgrade.
   * @param cause - error of the lost connection
   */
  async #awaitReturn(cause?: EngineError): Promise<void> {
    const known = this.#shared;
    for (const end = performance.now() + awayMs; performance.now() < end; await sleep(500)) {
      const isBack = await this.isResponding(this.aborted);
      if (this.aborted.aborted) throw this.abortError;
      // If the engine responds at once, the lost connection was to a registry, not to the engine, so nothing is logged.
      if (isBack) return this.#noteAnswer();
      if (known.awaySince === null)
        this.#options.onAway?.(`the engine stopped responding; waiting up to ${awayMs / 1000} s for it`);
      known.awaySince ??= performance.now();
      const isLong = performance.now() > known.awaySince + lostSocketMs;
      if (!isLong || !(await isSocketGone(this.address.host))) continue;
      const message =
        'the engine was restarted and has a new socket, but this container still has the old socket';
      throw new UpdateError('engine-unavailable', message, { cause });
    }
    const message = `the engine stopped responding and did not respond again within ${awayMs / 1000} s`;
    throw new UpdateError('engine-unavailable', message, { cause });
  }

  /**
   * A response ends the outage even if the waiting call was cancelled; otherwise, the next outage would not be logged.
   */
  #noteAnswer(): void {
    const { awaySince } = this.#shared;
    this.#shared.awaySince = null;
    this.#shared.hasAnswered = true;
    if (awaySince !== null) this.#options.onAway?.('the engine responds again; continuing');
  }
}

const newState = (address: EngineAddress): SharedState => ({
  client: new EngineClient(() => targetOf(address), queryDeadlineMs),
  hasAnswered: false,
  awaySince: null,
  shutdown: new AbortController(),
});

function targetOf({ host, tls }: EngineAddress): EngineConnection {
  try {
    return parseEngineConnection(host, tls);
  } catch (cause) {
    throw new UpdateError('engine-unavailable', (cause as Error).message, {
      cause,
      advice: 'Set DOCKER_HOST to the socket (unix://) or to a tcp:// address of the engine.',
    });
  }
}

/**
 * Checks whether the engine's socket was deleted on the host. A restarted engine with live-restore creates a new
 * socket, but a socket that is mounted as a file remains the old one.
 */
async function isSocketGone(host: string): Promise<boolean> {
  const found = await stat(host.replace(/^unix:\/\//, '')).catch(() => null);
  return found?.isSocket() === true && found.nlink === 0;
}
