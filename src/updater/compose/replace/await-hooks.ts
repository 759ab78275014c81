import { waitUntil } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { isHookContainer } from '../../../engine/containers/project-containers.ts';
import { composeLabels } from '../../../engine/objects/labels.ts';
import { awaitWithHeartbeat } from '../../run/log/heartbeat.ts';
import type { Log } from '../../run/log/run-log.ts';

// `pre_start` hooks (compose 5.3 and later) are commands that compose runs before it starts a service. Each hook runs
// with the new image in a separate container. During a hook, the service is unavailable. A hook's changes cannot be
// undone (docs/contract.md 5.8).

const hookPollMs = 100;
const maxHookMs = 900_000;

interface Service {
  project: string;
  name: string;
}

async function isHookRunning(engine: Engine, { project, name }: Service): Promise<boolean> {
  const label = [`${composeLabels.project}=${project}`, `${composeLabels.service}=${name}`];
  return (await engine.listContainers({ label, status: ['running'] })).some(isHookContainer);
}

/**
 * Waits for a hook of a killed compose command. Another `up` would start a second hook in parallel.
 * @throws UpdateError recreate-failed if the hook does not finish
 */
export async function awaitPreStartHooks(engine: Engine, service: Service, log: Log): Promise<void> {
  if (!(await isHookRunning(engine, service))) return;
  const sentence = `the pre_start hook of ${service.name} is already running; waiting for it to finish`;
  log.info(sentence);
  const evaluate = (isRunning: boolean, isLate: boolean) => {
    if (isRunning && isLate)
      throw new UpdateError(
        'recreate-failed',
        `the pre_start hook of ${service.name} has not finished after ${maxHookMs / 60_000} minutes`,
      );
    return isRunning ? undefined : true;
  };
  const ended = waitUntil(() => isHookRunning(engine, service), evaluate, {
    pause: hookPollMs,
    deadlineMs: maxHookMs,
    signal: engine.aborted,
  });
  await awaitWithHeartbeat(log, sentence, ended);
}

/** Compose's message about a failed hook. Since compose 5.5, it contains the id of the hook's container. */
const failedHookMessage = /pre_start\[(\d+)\] exited with code (\d+)(?:.*hook container (\w+) retained)?/s;

/** Returns null if the messages report no failed hook. */
export function findPreStartHookError(service: string, messages: readonly string[]): UpdateError | null {
  const given = messages.map((message) => failedHookMessage.exec(message)).find((match) => match !== null);
  if (!given) return null;
  const [, index, code, kept] = given;
  return new UpdateError(
    'recreate-failed',
    `the hook pre_start[${index}] of ${service} failed with exit code ${code}`,
    {
      detail:
        kept === undefined ? [] : [`the hook container was kept; check its log with docker logs ${kept}`],
    },
  );
}
