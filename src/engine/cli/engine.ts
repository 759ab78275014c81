// The updater's engine: its API, and the commands of compose and stacks, which only docker's own programs can run.

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cancelled, Interrupted } from '../../core/cancellation/cancelled.ts';
import { UpdateError } from '../../core/errors/update-error.ts';
import { EngineApi } from '../engine-api.ts';
import type { EngineCall, EngineTimeouts } from '../engine-calls.ts';
import { EngineClient } from '../http/client.ts';
import { createResponseError, EngineError, findEngineError, isBackendMissing } from '../http/engine-error.ts';
import { type EngineTarget, engineTarget } from '../http/engine-target.ts';
import {
  type EngineRequest,
  type EngineResponse,
  type EngineStream,
  requestNameOf,
} from '../http/request.ts';
import { proxyAdvice } from '../proxy-error.ts';
import { type RegistryCredentials, readRegistryCredentials } from '../registry/registry-credentials.ts';
import { isConnectionLost } from './is-connection-lost.ts';
import { type CommandOptions, type CommandResult, runCommand } from './run-command.ts';

/** Digest of a tag in its registry; `none` if the registry has no such tag; null if the digest is unknown. */
export type RemoteDigest = { digest: string } | 'none' | null;

/**
 * Address of the engine. Commands receive the address in flags and not in variables, because compose could pass
 * variables on to a service.
 */
interface EngineAddress {
  /** Socket or TCP address, such as `unix:///var/run/docker.sock`. */
  host: string;
  /** TLS flags for a TCP connection, such as `--tlsverify`. */
  tls: readonly string[];
  /** Directory that contains the updater's own config.json. */
  configDirectory: string;
}

/** Options of a docker command. `env` is added to PATH and HOME. */
interface CallOptions extends Partial<Omit<CommandOptions, 'signal'>> {
  /**
   * Whether to run the command again after an outage of the engine; true by default. Must be false for a command that
   * cannot be repeated safely.
   */
  repeatable?: boolean;
}

/**
 * Path of the compose plugin in the updater's image. The updater starts the plugin as the docker command does, but
 * without docker, which takes longer to find the plugin than most compose calls take.
 */
const composePlugin = '/usr/local/libexec/docker/cli-plugins/docker-compose';
const asPlugin = { DOCKER_CLI_PLUGIN_ORIGINAL_CLI_COMMAND: 'docker' };

/**
 * Returns the path of docker in the updater's own PATH, because a command's PATH may come from the files of a stack.
 */
function dockerProgram(): string {
  const paths = (process.env.PATH ?? '').split(':').map((folder) => join(folder, 'docker'));
  return paths.find((path) => isAbsolute(path) && existsSync(path)) ?? 'docker';
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
 * Milliseconds of an outage after which a deleted socket counts as lost. Within this time, a starting engine ends or
 * stops the processes that it does not take over.
 */
const lostSocketMs = 10_000;
const maxAttempts = 3;
/**
 * Maximum number of attempts for a read that fails with a status of 500 or more. The engine returns 500 for a container
 * that is being removed, until the removal is complete.
 */
const maxReadings = 20;
const readingPauseMs = 250;
/**
 * Deadline in milliseconds for a check whether the engine responds. An engine that is starting or shutting down accepts
 * connections but does not respond.
 */
const probeMs = 4_000;
const probePauseMs = 1_000;

/** Whether durations are logged; enabled by `SVC_UPDATER_TRACE=1`. */
const isTraced = process.env.SVC_UPDATER_TRACE === '1';

/**
 * Prints the start and end of a child process or of a request to the engine, in milliseconds since this process
 * started, to standard error and not to the log.
 * @param beganAt time from `performance.now()`
 */
function logTiming(what: string, beganAt: number, how: string): void {
  if (!isTraced) return;
  const [from, to] = [beganAt, performance.now()].map((ms) => ms.toFixed(0).padStart(6));
  process.stderr.write(`trace ${from} – ${to} ms  ${what} (${how})\n`);
}

interface EngineOptions {
  /** Value of HOME for docker and compose. */
  home: string;
  /** Signal that cancels calls in progress. */
  signal?: AbortSignal | undefined;
  /** Called with a message for the log when the engine stops responding, and when it responds again. */
  onAway?: (sentence: string) => void;
}

/** State that all views of an engine share. */
interface SharedState {
  readonly client: EngineClient;
  hasAnswered: boolean;
  /**
   * Start of the current outage, from `performance.now()`; null if the engine responds. The outage is logged once, even
   * if several calls wait.
   */
  awaySince: number | null;
  readonly shutdown: AbortController;
}

/**
 * The updater's engine: its API, and the `docker` command for compose and stacks. Every call has a deadline, can be
 * cancelled by the abort signal, and waits if the engine stops responding. Methods throw UpdateError with an
 * EngineError as its cause; streams throw EngineError.
 */
export class Engine extends EngineApi {
  readonly address: EngineAddress;
  readonly signal: AbortSignal | undefined;
  readonly #options: EngineOptions;
  readonly #shared: SharedState;

  constructor(address: EngineAddress, options: EngineOptions, shared: SharedState = newState(address)) {
    super(address.host, { client: shared.client, timeouts });
    this.address = address;
    this.signal = options.signal;
    this.#options = options;
    this.#shared = shared;
  }

  /**
   * Returns a view that ignores the abort signal, for work that must not be left unfinished. Only a shutdown of the
   * engine ends the calls of this view.
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

  /** Address of the engine's API. @throws UpdateError engine-unavailable */
  get target(): EngineTarget {
    return targetOf(this.address);
  }

  /** Sends a request. If the engine stops responding, waits for the engine and repeats the request. */
  protected override async exchange(call: EngineCall, question: EngineRequest): Promise<EngineResponse> {
    const name = requestNameOf(question);
    const { repeat = question.method === 'GET' ? 'failed' : 'lost' } = call;
    let readings = 0;
    for (let attempt = 1; ; ) {
      try {
        const beganAt = performance.now();
        const answer = await super.exchange(call, { ...question, signal: this.aborted });
        logTiming(name, beganAt, `status ${answer.status}`);
        if (isBackendMissing(answer))
          throw new EngineError('unreachable', createResponseError(name, answer).message);
        this.#noteAnswer();
        readings += 1;
        if (answer.status < 500 || repeat !== 'failed' || readings >= maxReadings) return answer;
        await sleep(readingPauseMs);
      } catch (cause) {
        if (this.aborted.aborted) throw this.abortion;
        if (!(cause instanceof EngineError)) throw cause;
        if (cause.code !== 'unreachable' && cause.code !== 'not-an-engine') throw this.explain(cause);
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
   * Reads the last lines of a log. An attempt that an outage interrupts is repeated, because the log may explain why an
   * update failed.
   */
  override async readLastLines(...asked: Parameters<EngineApi['readLastLines']>): Promise<string[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await super.readLastLines(...asked);
      } catch (error) {
        const isLost = error instanceof EngineError && error.code === 'unreachable';
        if (!isLost || attempt === maxAttempts || !this.#shared.hasAnswered) throw error;
        await this.#awaitReturn(error);
      }
    }
  }

  protected override explain(cause: EngineError, purpose?: string): UpdateError {
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
  async call(args: readonly string[], options: CallOptions = {}): Promise<CommandResult> {
    const deadlineMs = options.deadlineMs ?? queryDeadlineMs;
    for (let attempt = 1; ; attempt++) {
      const result = await this.#run(args, { ...options, deadlineMs });
      if (result.aborted) throw this.abortion;
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

  /** Returns the credentials in the updater's own configuration for the registry of an image. */
  ownLogin(repository: string): Promise<RegistryCredentials | null> {
    return readRegistryCredentials(repository, join(this.address.configDirectory, 'config.json'));
  }

  /**
   * Returns the digest to which a tag or digest refers in its registry. Null if the request fails, because that failure
   * must not end a run.
   * @throws Cancelled, Interrupted
   */
  async findRemoteDigest({ repository, tag }: { repository: string; tag: string }): Promise<RemoteDigest> {
    const reference = `${repository}${tag.includes(':') ? '@' : ':'}${tag}`;
    try {
      const { digest } = await this.inspectRemoteImage(reference, await this.ownLogin(repository));
      return { digest };
    } catch (error) {
      if (!(error instanceof UpdateError)) throw error;
      // The message is checked too, because a server that is not a registry may also respond with 404.
      const { code, message } = findEngineError(error) ?? error;
      return code === 'not-found' && /manifest unknown|not found/i.test(message) ? 'none' : null;
    }
  }

  /** Checks whether the engine responds. The check also works after the abort signal of this view. */
  answers(signal?: AbortSignal): Promise<boolean> {
    const probe = {
      method: 'GET',
      path: '/version',
      deadlineMs: probeMs,
      ...(signal && { signal }),
    } as const;
    return this.client.ask(probe).then(
      ({ status }) => status < 500,
      () => false,
    );
  }

  /**
   * Waits until the engine stops responding. Call this after a request to stop this process: an engine that then stops
   * responding is shutting down and waits for this process. Calls in progress then fail with Interrupted instead of
   * waiting for the engine.
   */
  async watchShutdown(): Promise<void> {
    while (await this.answers()) await sleep(probePauseMs, undefined, { ref: false });
    this.#shared.shutdown.abort(new Interrupted());
  }

  /** Signal that ends calls in progress: the abort signal of this view, or a shutdown of the engine. */
  get aborted(): AbortSignal {
    return AbortSignal.any([this.#shared.shutdown.signal, ...(this.signal ? [this.signal] : [])]);
  }

  /** Error of a call that the signal `aborted` has ended. */
  get abortion(): Cancelled | Interrupted {
    return this.#shared.shutdown.signal.aborted ? new Interrupted() : new Cancelled();
  }

  async #run(args: readonly string[], options: CallOptions & { deadlineMs: number }): Promise<CommandResult> {
    const { host, tls, configDirectory } = this.address;
    const beganAt = performance.now();
    const isPlugin = args[0] === 'compose' && existsSync(composePlugin);
    const file = isPlugin ? composePlugin : dockerProgram();
    const result = await runCommand(file, ['--config', configDirectory, '--host', host, ...tls, ...args], {
      ...options,
      env: {
        PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
        HOME: this.#options.home,
        ...(isPlugin && asPlugin),
        ...options.env,
      },
      signal: this.aborted,
    });
    logTiming(`docker ${args.join(' ')}`, beganAt, `exit code ${result.exitCode}`);
    return result;
  }

  /**
   * Waits until an engine that responded earlier responds again, for example after a restart or an upgrade.
   * @param cause error of the lost connection
   */
  async #awaitReturn(cause?: EngineError): Promise<void> {
    const known = this.#shared;
    for (const end = performance.now() + awayMs; performance.now() < end; await sleep(500)) {
      const isBack = await this.answers(this.aborted);
      if (this.aborted.aborted) throw this.abortion;
      // If the engine responds to the first check, the lost connection was to a registry, and nothing is logged.
      if (isBack) return this.#noteAnswer();
      if (known.awaySince === null)
        this.#options.onAway?.(`the engine stopped answering; waiting up to ${awayMs / 1000} s for it`);
      known.awaySince ??= performance.now();
      const isLong = performance.now() > known.awaySince + lostSocketMs;
      if (!isLong || !(await isSocketGone(this.address.host))) continue;
      const message =
        'the engine was restarted and has a new socket, but this container still has the old socket';
      throw new UpdateError('engine-unavailable', message, { cause });
    }
    const message = `the engine stopped answering and did not return within ${awayMs / 1000} s`;
    throw new UpdateError('engine-unavailable', message, { cause });
  }

  /**
   * Records a response, which ends an outage even if the call that waited for the engine was cancelled. The next outage
   * is then logged again.
   */
  #noteAnswer(): void {
    const { awaySince } = this.#shared;
    this.#shared.awaySince = null;
    this.#shared.hasAnswered = true;
    if (awaySince !== null) this.#options.onAway?.('the engine answers again; continuing');
  }
}

const newState = (address: EngineAddress): SharedState => ({
  client: new EngineClient(() => targetOf(address), queryDeadlineMs),
  hasAnswered: false,
  awaySince: null,
  shutdown: new AbortController(),
});

function targetOf({ host, tls }: EngineAddress): EngineTarget {
  try {
    return engineTarget(host, tls);
  } catch (cause) {
    throw new UpdateError('engine-unavailable', (cause as Error).message, {
      cause,
      advice: 'Set DOCKER_HOST to the socket (unix://) or to a tcp:// address of the engine.',
    });
  }
}

/**
 * Checks whether the engine's socket has been deleted on the host. A socket that is mounted as a file becomes unusable
 * when an engine with live-restore creates a new socket.
 */
async function isSocketGone(host: string): Promise<boolean> {
  const found = await stat(host.replace(/^unix:\/\//, '')).catch(() => null);
  return found?.isSocket() === true && found.nlink === 0;
}
