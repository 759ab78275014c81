// The updater's engine: the API, and the commands of compose and stacks, which only docker's own programs can carry out.

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cancelled, Interrupted } from '../../core/progress/stops.ts';
import { UpdateError } from '../../core/progress/update-error.ts';
import { EngineApi } from '../engine-api.ts';
import type { EngineCall, EngineTimeouts } from '../engine-calls.ts';
import { EngineClient } from '../http/client.ts';
import { EngineError, engineErrorIn, isAbsence, refusalError } from '../http/engine-error.ts';
import { type EngineAnswer, type EngineQuestion, type EngineStream, requestName } from '../http/request.ts';
import { type EngineTarget, engineTarget } from '../http/target.ts';
import { letThrough } from '../proxy-refusal.ts';
import { loginFor, type RegistryLogin } from '../registry-login.ts';
import { type CommandOptions, type CommandResult, runCommand } from './command.ts';
import { withoutCancelled } from './compose-output.ts';

/** The digest of a tag in its registry; `none` if the registry has no such tag; null if it is not known. */
export type RemoteDigest = { digest: string } | 'none' | null;

/** How to reach the engine: always by flags, never by variables that compose could pass on to a service. */
interface EngineAddress {
  /** `unix:///var/run/docker.sock` */
  host: string;
  /** `--tlsverify …` where the engine is reached by TCP. */
  tls: readonly string[];
  /** Directory with the config.json of the updater's own. */
  configDirectory: string;
}

/** `env` is set beside PATH and HOME. */
interface CallOptions extends Partial<Omit<CommandOptions, 'signal'>> {
  /** Start it again once an engine that went away is back. On by default: only for calls that may be repeated. */
  repeatable?: boolean;
}

/**
 * In the updater's image. Called as the docker command calls it, and without that command, which takes longer to find it
 * than most compose calls take.
 */
const composePlugin = '/usr/local/libexec/docker/cli-plugins/docker-compose';
const asPlugin = { DOCKER_CLI_PLUGIN_ORIGINAL_CLI_COMMAND: 'docker' };

/** By the updater's own PATH: the variables of a call come from a stack's files. */
function dockerProgram(): string {
  const paths = (process.env.PATH ?? '').split(':').map((folder) => join(folder, 'docker'));
  return paths.find((path) => isAbsolute(path) && existsSync(path)) ?? 'docker';
}

const queryDeadlineMs = 30_000;
const timeouts: EngineTimeouts = {
  query: queryDeadlineMs,
  registry: 15_000,
  work: queryDeadlineMs,
  // A busy engine takes its time to start a container.
  start: 900_000,
  pullSilence: 300_000,
  logSilence: 60_000,
};
const awayMs = 60_000;
/** An engine that starts ends, or tells to stop, what it does not take over before that. */
const lostSocketMs = 10_000;
const maxAttempts = 3;
/** An engine returns 500 for a container that is being removed, until it is gone. */
const maxReadings = 20;
const readingPauseMs = 250;
/** An engine that is shutting down, or starting, takes connections and does not answer. */
const probeMs = 4_000;
const probePauseMs = 1_000;

/** Printed if the engine cannot be reached, or by a proxy whose engine does not answer. */
const unreached =
  /Cannot connect to the Docker daemon|error during connect|failed to connect to the docker API|request returned 50[234] .* for API route|response from daemon: (?:<|\\u003c).*(?<!\d)50[234]\b/im;
/** Printed if a connection breaks during a response. */
const broken = /connection reset by peer|socket: no such file|unexpected EOF$|: EOF$/im;
/** In its errors, the engine reports connections of its own: to registries, log servers and plugins. */
const engineError = /error (?:response from daemon|from registry): .*/gi;

/** A call that was cancelled because another one failed: what that one failed of decides. */
const cancelledCall = /error during connect: [^\n]*?context canceled/g;

/** Whether durations are logged: `SVC_UPDATER_TRACE=1`. */
const isTraced = process.env.SVC_UPDATER_TRACE === '1';

/**
 * Says what has just ended, a child process or a request to the engine, and when it began: to standard error, beside the
 * log, in milliseconds since the start of this process.
 * @param beganAt by `performance.now()`
 */
function logTiming(what: string, beganAt: number, how: string): void {
  if (!isTraced) return;
  const [from, to] = [beganAt, performance.now()].map((ms) => ms.toFixed(0).padStart(6));
  process.stderr.write(`trace ${from} – ${to} ms  ${what} (${how})\n`);
}

export function isConnectionLost(stderr: string): boolean {
  const said = withoutCancelled(stderr).replaceAll(cancelledCall, '');
  return unreached.test(said) || broken.test(said.replaceAll(engineError, ''));
}

interface EngineOptions {
  /** The home directory that compose sees. */
  home: string;
  /** Ends calls under way. */
  signal?: AbortSignal | undefined;
  /** Called when the engine stops answering and when it answers again. */
  onAway?: (sentence: string) => void;
}

/** What all views of one engine share. */
interface SharedState {
  readonly client: EngineClient;
  hasAnswered: boolean;
  /** Since when the engine has not answered, by `performance.now()`; it is logged once, however many calls wait. */
  awaySince: number | null;
  readonly shutdown: AbortController;
}

/**
 * The updater's engine: its API, and the `docker` command for compose and stacks. Every call has a deadline and ends with the abort
 * signal. Calls wait for an engine that stops answering. Methods throw UpdateError, whose cause is the EngineError; streams throw EngineError.
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

  /** The same engine, without the signal: for work that must not be left half done. Only its shutdown ends calls. */
  uncancellable(): Engine {
    return new Engine(this.address, { ...this.#options, signal: undefined }, this.#shared);
  }

  /** The same engine, for work that this signal ends, too. */
  until(signal: AbortSignal): Engine {
    const both = AbortSignal.any([signal, ...(this.signal ? [this.signal] : [])]);
    return new Engine(this.address, { ...this.#options, signal: both }, this.#shared);
  }

  /** The same engine for work after the last line of the log: lost connections are not logged. */
  quiet(): Engine {
    return new Engine(this.address, { ...this.#options, onAway: () => {} }, this.#shared);
  }

  /** The same engine by another address, such as a socket that stands before it. */
  at(address: EngineAddress): Engine {
    return new Engine(address, this.#options, this.#shared);
  }

  /** Where its API is. @throws UpdateError engine-unavailable */
  get target(): EngineTarget {
    return targetOf(this.address);
  }

  /** Waits for an engine that stopped answering, then repeats the request. */
  protected override async exchange(call: EngineCall, question: EngineQuestion): Promise<EngineAnswer> {
    const name = requestName(question);
    const { repeat = question.method === 'GET' ? 'failed' : 'lost' } = call;
    let readings = 0;
    for (let attempt = 1; ; ) {
      try {
        const beganAt = performance.now();
        const answer = await super.exchange(call, { ...question, signal: this.aborted });
        logTiming(name, beganAt, `status ${answer.status}`);
        if (isAbsence(answer)) throw new EngineError('unreachable', refusalError(name, answer).message);
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

  protected override async openStream(question: EngineQuestion, silenceMs: number): Promise<EngineStream> {
    const beganAt = performance.now();
    const stream = await super.openStream(question, silenceMs);
    logTiming(requestName(question), beganAt, `status ${stream.status}`);
    return stream;
  }

  /** If no line came because of an outage, the log is read again: it may explain why an update failed. */
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
      return new UpdateError('engine-unavailable', message, { cause, advice: letThrough });
    const text = purpose === undefined ? message : `the engine failed to ${purpose}: ${message}`;
    return new UpdateError('engine-unavailable', text, { cause });
  }

  /** Runs `docker …` and gives its result back, whatever its exit code. Throws when the engine stays away. */
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

  /** The credentials of the updater's own configuration for the registry of an image. */
  ownLogin(repository: string): Promise<RegistryLogin | null> {
    return loginFor(repository, join(this.address.configDirectory, 'config.json'));
  }

  /**
   * The digest that a tag, or a digest, has in its registry now. A failed request is no reason to end a run.
   * @throws Cancelled, Interrupted
   */
  async findRemoteDigest({ repository, tag }: { repository: string; tag: string }): Promise<RemoteDigest> {
    const reference = `${repository}${tag.includes(':') ? '@' : ':'}${tag}`;
    try {
      const { digest } = await this.inspectRemoteImage(reference, await this.ownLogin(repository));
      return { digest };
    } catch (error) {
      if (!(error instanceof UpdateError)) throw error;
      // Another server than a registry may respond with 404, too.
      const { code, message } = engineErrorIn(error) ?? error;
      return code === 'not-found' && /manifest unknown|not found/i.test(message) ? 'none' : null;
    }
  }

  /** Whether it answers right now, also after the abort signal. */
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
   * To be called once this process was asked to stop: from now on an engine that does not answer is shutting down, waits
   * for this process, and cannot be waited for. Calls under way then end with Interrupted.
   */
  async watchShutdown(): Promise<void> {
    while (await this.answers()) await sleep(probePauseMs, undefined, { ref: false });
    this.#shared.shutdown.abort(new Interrupted());
  }

  /** Ends running calls. */
  get aborted(): AbortSignal {
    return AbortSignal.any([this.#shared.shutdown.signal, ...(this.signal ? [this.signal] : [])]);
  }

  /** Why it was ended. */
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
   * Waits until an engine that answered before answers again: it is restarted or upgraded now and then.
   * @param cause how the connection was lost
   */
  async #awaitReturn(cause?: EngineError): Promise<void> {
    const known = this.#shared;
    for (const end = performance.now() + awayMs; performance.now() < end; await sleep(500)) {
      const isBack = await this.answers(this.aborted);
      if (this.aborted.aborted) throw this.abortion;
      // If the engine answers the first probe, the lost connection was one to a registry, and nothing is logged.
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

  /** Any answer ends an outage, also if the call that waited for it was cancelled: the next outage is logged again. */
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
 * Whether the socket has no name any more on the host: one that was mounted as a file leads nowhere once an engine with
 * live-restore has made a new one.
 */
async function isSocketGone(host: string): Promise<boolean> {
  const found = await stat(host.replace(/^unix:\/\//, '')).catch(() => null);
  return found?.isSocket() === true && found.nlink === 0;
}
