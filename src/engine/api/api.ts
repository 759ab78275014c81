// The agent's second door to the engine: requests over its socket. A run looks at containers dozens of times, and a
// command takes ten times as long for a look; making an old container again, and reading a file out of an image without
// a shell, no command can do.

import { setTimeout as sleep } from 'node:timers/promises';
import { UpdateError } from '../../core/progress/update-error.ts';
import type { Engine } from '../cli/engine.ts';
import type { Question } from '../http/client.ts';
import { EngineFault, isAbsence, refusal, refusalFault } from '../http/fault.ts';
import { type EngineAnswer, requestName } from '../http/request.ts';
import { logTiming } from '../timing.ts';

type ApiRequest = Omit<Question, 'signal'>;

const maxAttempts = 3;
/** The engine answers 500 for a container that is just being removed, until it is gone. */
const maxReadings = 20;
const readingPauseMs = 250;

/**
 * Asks the engine what its command line cannot, or takes ten times as long for. An engine that goes away is waited for, and
 * asked once more: whatever is asked must bear being asked twice.
 * @throws UpdateError engine-unavailable, engine-version, Cancelled
 */
export async function askApi(engine: Engine, asked: ApiRequest): Promise<EngineAnswer> {
  const what = requestName(asked);
  for (let attempt = 1; ; attempt++) {
    try {
      const beganAt = performance.now();
      const answer = await engine.api.ask({ ...asked, signal: engine.aborted });
      logTiming(what, beganAt, `status ${answer.status}`);
      if (!isAbsence(answer)) return answer;
      throw new EngineFault('away', refusalFault(what, answer).message);
    } catch (cause) {
      if (engine.aborted.aborted) throw engine.abortion;
      if (!(cause instanceof EngineFault)) throw cause;
      // Only an engine without a supported version refuses before it is asked.
      const code = cause.kind === 'refused' ? 'engine-version' : 'engine-unavailable';
      if (cause.kind !== 'away') throw new UpdateError(code, cause.message, { cause });
      if (attempt >= maxAttempts) {
        const message = `the engine does not answer (${what}): ${cause.message}`;
        throw new UpdateError(code, message, { cause });
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
  new UpdateError('engine-unavailable', `the engine failed to ${what}: ${refusal(answer)}`, {
    ...more,
    cause: refusalFault(what, answer),
  });

/** Whether the engine answers what a docker command asks before all else; a proxy may not let it through. */
export async function pingApi(engine: Engine): Promise<boolean> {
  const { status, apiVersion } = await askApi(engine, { method: 'HEAD', path: '/_ping' });
  return status === 200 && apiVersion !== '';
}
