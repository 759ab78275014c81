// The agent's second door to the engine: requests over its socket. A run looks at containers dozens of times, and a
// command takes ten times as long for a look; making an old container again, and reading a file out of an image without
// a shell, no command can do.

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { UpdateError } from '../../progress/update-error.ts';
import type { Engine, EngineAddress } from '../cli/engine.ts';
import { apiVersion, inVersion, isVersionRefusal } from '../http/api-version.ts';
import { EngineFault, isAbsence, refusal, refusalFault } from '../http/fault.ts';
import { objectOf } from '../http/lines.ts';
import {
  ask,
  type EngineAnswer,
  type EngineQuestion,
  type EngineStream,
  nameOf,
  openStream,
} from '../http/request.ts';
import { type EngineTarget, engineTarget } from '../http/target.ts';
import { isPodman } from '../podman.ts';
import { logTiming } from '../timing.ts';

/** Its path has no version; `HEAD` is asked in none, as the docker command does. Without a deadline it has 30 seconds. */
type ApiRequest = Omit<EngineQuestion, 'deadlineMs' | 'signal'> & { deadlineMs?: number };

const whoAreYou = '/version';
const defaultDeadlineMs = 30_000;
const maxAttempts = 3;
/** The engine answers 500 for a container that is just being removed, until it is gone. */
const maxReadings = 20;
const readingPauseMs = 250;

/**
 * Asks the engine what its command line cannot, or takes ten times as long for. An engine that goes away is waited for, and
 * asked once more: whatever is asked must bear being asked twice. @throws UpdateError engine-unavailable, Cancelled
 */
export async function askApi(engine: Engine, asked: ApiRequest): Promise<EngineAnswer> {
  const { deadlineMs = defaultDeadlineMs } = asked;
  const what = nameOf(asked);
  const target = apiTarget(engine.address);
  for (let attempt = 1; ; attempt++) {
    try {
      const beganAt = performance.now();
      const spoken = asked.path === whoAreYou || asked.method === 'HEAD' ? null : engine.apiVersion;
      const path = inVersion(spoken, asked.path);
      const sent = { ...asked, path, deadlineMs, signal: engine.aborted };
      const answer = await ask(target, sent);
      logTiming(what, beganAt, `status ${answer.status}`);
      if (isAbsence(answer)) throw new EngineFault('away', refusalFault(what, answer).message);
      if (spoken === null) return answer;
      if (!isVersionRefusal({ status: answer.status, said: refusal(answer) })) {
        return { ...answer, apiVersion: spoken };
      }
      if (attempt >= maxAttempts) throw new UpdateError('engine-unavailable', `${what}: ${refusal(answer)}`);
      // Another engine has taken its place.
      const said = await readApi(engine, whoAreYou);
      agreeOnVersion(engine, said.status === 200 ? objectOf(said.body.toString()) : {});
    } catch (cause) {
      if (engine.aborted.aborted) throw engine.abortion;
      if (!(cause instanceof EngineFault)) throw cause;
      if (cause.kind !== 'away') throw new UpdateError('engine-unavailable', cause.message, { cause });
      if (attempt >= maxAttempts) {
        const message = `the engine does not answer (${what}): ${cause.message}`;
        throw new UpdateError('engine-unavailable', message, { cause });
      }
      // The call through the command line waits for an engine that went away, and tells about it in the log.
      await engine.callOrThrow(['version', '--format', '{{.Server.Version}}']);
    }
  }
}

/**
 * Asks for what only tells, by its path. An engine that fails to tell it is asked again for five seconds: a failure is no
 * absence. @throws UpdateError engine-unavailable, Cancelled
 */
export async function readApi(
  engine: Engine,
  path: string,
  how: Pick<ApiRequest, 'limit' | 'cut'> = {},
): Promise<EngineAnswer> {
  for (let asked = 1; ; asked++) {
    const answer = await askApi(engine, { method: 'GET', path, ...how });
    if (answer.status < 500 || asked >= maxReadings) return answer;
    await sleep(readingPauseMs);
  }
}

/** The error for a request that the engine did not carry out, with the engine's message. @param what `stop svc-app-1` */
export const notDone = (what: string, answer: EngineAnswer, more: { advice?: string } = {}): UpdateError =>
  new UpdateError('engine-unavailable', `the engine failed to ${what}: ${refusal(answer)}`, more);

/** Whether the engine answers what a docker command asks before all else; a proxy may not let it through. */
export async function pingApi(engine: Engine): Promise<boolean> {
  const { status, apiVersion } = await askApi(engine, { method: 'HEAD', path: '/_ping' });
  return status === 200 && apiVersion !== '';
}

/** An answer without an end, until the signal is given. @throws EngineFault */
export function streamApi(engine: Engine, path: string, signal: AbortSignal): Promise<EngineStream> {
  const deadlineMs = Number.POSITIVE_INFINITY;
  const asked = { method: 'GET', path: inVersion(engine.apiVersion, path), signal, deadlineMs } as const;
  return openStream(apiTarget(engine.address), asked, deadlineMs);
}

/**
 * From now on requests name a version of the API that the engine has, by what it says of itself.
 * @throws UpdateError engine-version if it has none that is known here
 */
export function agreeOnVersion(engine: Engine, said: Record<string, unknown>): void {
  try {
    engine.speak(apiVersion(said), isPodman(said));
  } catch (cause) {
    throw new UpdateError('engine-version', (cause as Error).message, { cause });
  }
}

/** Where the engine's API is by the address that the command line is given. @throws UpdateError engine-unavailable */
export function apiTarget({ host, tls }: EngineAddress): EngineTarget {
  const isSecure = tls.some((flag) => flag === '--tlsverify' || flag === '--tls');
  const file = (flag: string) => {
    const at = tls.indexOf(flag);
    return at < 0 ? undefined : readFileSync(tls[at + 1] ?? '');
  };
  const [ca, cert, key] = isSecure ? [file('--tlscacert'), file('--tlscert'), file('--tlskey')] : [];
  const files = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  try {
    return engineTarget(host, isSecure ? { ...files, verify: tls.includes('--tlsverify') } : null);
  } catch (cause) {
    throw new UpdateError('engine-unavailable', (cause as Error).message, {
      cause,
      advice: 'Set DOCKER_HOST to the socket (unix://) or to a tcp:// address of the engine.',
    });
  }
}
