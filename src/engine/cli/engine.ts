// The agent's first door to the engine: commands, docker's and compose's. Whatever compose does goes by it, because only
// compose knows how, and so do the few rare things that a command says best.

import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cancelled, Interrupted } from '../../core/progress/stops.ts';
import { UpdateError } from '../../core/progress/update-error.ts';
import { EngineClient } from '../http/client.ts';
import { type EngineTarget, engineTarget } from '../http/target.ts';
import { isPodman } from '../podman.ts';
import { logTiming } from '../timing.ts';
import { type CommandOptions, type CommandResult, runCommand } from './command.ts';
import { withoutCancelled } from './compose-output.ts';
import { isSocketGone, lastLine, unreachable } from './unreachable.ts';

/** How to reach the engine: always by flags, never by variables that compose could pass on to a service. */
export interface EngineAddress {
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
const awayMs = 60_000;
const probe = ['version', '--format', '{{.Server.Version}}'];
/** An engine that starts ends, or tells to stop, what it does not take over before that. */
const lostSocketMs = 10_000;
const maxAttempts = 3;
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
  answeredOnce: boolean;
  api?: EngineClient;
  /** Since when the engine has not answered the calls that wait for it; told once, however many wait. */
  awaySince: number | null;
  readonly shutdown: AbortController;
}

/** The engine's command line. Every call has a deadline and ends with the abort signal. */
export class Engine {
  readonly address: EngineAddress;
  readonly signal: AbortSignal | undefined;
  readonly #options: EngineOptions;
  readonly #shared: SharedState;

  constructor(
    address: EngineAddress,
    options: EngineOptions,
    shared: SharedState = { answeredOnce: false, awaySince: null, shutdown: new AbortController() },
  ) {
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
    try {
      return engineTarget(this.address.host, this.address.tls);
    } catch (cause) {
      throw new UpdateError('engine-unavailable', (cause as Error).message, {
        cause,
        advice: 'Set DOCKER_HOST to the socket (unix://) or to a tcp:// address of the engine.',
      });
    }
  }

  /** Its API, for what no command can do, or takes ten times as long for. @throws UpdateError engine-unavailable */
  get api(): EngineClient {
    this.#shared.api ??= new EngineClient(this.target, queryDeadlineMs);
    return this.#shared.api;
  }

  /** Whether it is Podman that answers as Docker's engine does. */
  get isPodman(): boolean {
    return isPodman(this.#shared.api?.about ?? {});
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
      const hasAnswered = this.#shared.answeredOnce || this.#shared.api?.about != null;
      if (result.exitCode === 0 || !hasAnswered || !isConnectionLost(result.stderr)) return result;
      await this.#awaitReturn();
      if (options.repeatable === false || attempt >= maxAttempts) return result;
    }
  }

  /** Runs `docker …` and gives its standard output; throws with what it printed when it fails. */
  async callOrThrow(args: readonly string[], options: CallOptions = {}): Promise<string> {
    const result = await this.call(args, options);
    if (result.exitCode !== 0) {
      const message = `docker ${args.slice(0, 2).join(' ')} failed: ${lastLine(result.stderr)}`;
      throw new UpdateError('engine-unavailable', message, { detail: result.stderr.trim().split('\n') });
    }
    return result.stdout;
  }

  /**
   * Tries whether the engine is there, may be used and fits, and gives the version of the docker command.
   * Refusals: no-socket, socket-denied, engine-version.
   */
  async check(): Promise<string> {
    const result = await this.call(['version', '--format', '{{json .}}']);
    if (result.exitCode !== 0) throw unreachable(this.address.host, result.stderr);
    const { Client, Server } = JSON.parse(result.stdout);
    if (!Server) throw unreachable(this.address.host, result.stderr);
    this.#shared.answeredOnce = true;
    return String(Client?.Version);
  }

  /** Whether it answers right now; asked even after the abort signal. */
  async answers(): Promise<boolean> {
    const result = await this.#run(probe, { deadlineMs: probeMs }, null);
    return result.exitCode === 0;
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

  async #run(
    args: readonly string[],
    options: CallOptions & { deadlineMs: number },
    signal: AbortSignal | null = this.aborted,
  ): Promise<CommandResult> {
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
      signal: signal ?? undefined,
    });
    logTiming(`docker ${args.join(' ')}`, beganAt, `exit code ${result.exitCode}`);
    return result;
  }

  /** Waits until an engine that answered before answers again: it is restarted or upgraded now and then. */
  async #awaitReturn(): Promise<void> {
    const known = this.#shared;
    for (const end = performance.now() + awayMs; performance.now() < end; await sleep(500)) {
      const result = await this.#run(probe, { deadlineMs: probeMs });
      if (result.aborted) throw this.abortion;
      if (result.exitCode === 0) {
        // If the engine answers at the first look, the lost connection was one to a registry: then there is nothing to tell.
        if (known.awaySince !== null) this.#options.onAway?.('the engine answers again; continuing');
        known.awaySince = null;
        return;
      }
      if (known.awaySince === null)
        this.#options.onAway?.(`the engine stopped answering; waiting up to ${awayMs / 1000} s for it`);
      known.awaySince ??= performance.now();
      const isLong = performance.now() > known.awaySince + lostSocketMs;
      if (!isLong || !(await isSocketGone(this.address.host))) continue;
      const message =
        'the engine was restarted and has a new socket, but this container still has the old socket';
      throw new UpdateError('engine-unavailable', message);
    }
    const message = `the engine stopped answering and did not return within ${awayMs / 1000} s`;
    throw new UpdateError('engine-unavailable', message);
  }
}
