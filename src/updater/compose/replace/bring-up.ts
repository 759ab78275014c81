import { UpdateError } from '../../../core/progress/update-error.ts';
import { composeMessages } from '../../../engine/cli/compose-output.ts';
import { isConnectionLost } from '../../../engine/cli/engine.ts';
import { type Container, isUp, serviceOf } from '../../../engine/container.ts';
import { TryAgain } from '../../run/drive.ts';
import { wereEdited } from '../../run/log/ending-facts.ts';
import { withHeartbeat } from '../../run/log/heartbeat.ts';
import { pullWhatIsGone } from '../pull/obtain-images.ts';
import { findSaved } from './find-saved.ts';
import type { ReplaceStep } from './replace-steps.ts';
import type { Replacement } from './replacement.ts';
import { awaitHooks, hookFailure } from './start-hooks.ts';

/** For all that `up` does but stopping, which takes as long as the containers' own grace periods ask. */
const upDeadlineMs = 900_000;

/** The engine's answer while it is still busy with what a killed compose call, or a killed engine, had begun. */
const stillBusy =
  /is already in use by container|removal of container \S+ is already in progress|No such container|is marked for removal|cannot stop container/i;

/** A killed engine has left a task behind that no start of this container gets past: only a new one does. */
const stuck = /task \S+ already exists/i;

/** What earlier calls of `up` for a service have said. */
export interface UpTries {
  /** Why the first one failed. A later call may only meet what the earlier one has left behind, which hides the cause. */
  cause?: string | undefined;
  isCauseOfBusy?: boolean;
  isStuck?: boolean;
}

/**
 * Has compose replace a service once.
 * @param before the containers of the project @param look looks at the project after the call
 * @throws TryAgain; UpdateError recreate-failed
 */
export async function bringUp(
  step: Extract<ReplaceStep, { kind: 'up' }>,
  work: Replacement,
  { before, look, tried }: { before: readonly Container[]; look: () => Promise<unknown>; tried: UpTries },
): Promise<void> {
  const { engine, compose, changeover, journal, log } = work;
  const { service } = step;
  await checkFiles(work, service);
  // What its commands of the new version do cannot be undone.
  if (step.hook && !journal.data.started) await journal.write({ started: true });
  const deadlineMs = deadlineOfUp(service, before);
  if (step.hook) {
    await awaitHooks(engine, { project: compose.project.name, name: service }, log);
    log.info(`running the pre_start hook of ${service}; the service is unavailable until the hook finishes`);
  }
  const forceRecreate = step.force || tried.isStuck === true;
  const up = compose.up(new Map([[service, step.scale]]), { start: step.start, forceRecreate, deadlineMs });
  const result = await withHeartbeat(log, `waiting for docker compose to replace ${service}`, up);
  await look();
  if (result.exitCode === 0) return;
  const messages = composeMessages(result.stderr);
  // It would fail again, and has perhaps done half of its work: whoever wrote it has to say.
  const failed = step.hook ? hookFailure(service, messages) : null;
  if (failed) throw failed;
  const isLost = isConnectionLost(result.stderr);
  tried.isStuck ||= stuck.test(result.stderr);
  const isBusy = isLost || stuck.test(result.stderr) || stillBusy.test(result.stderr);
  if (tried.isCauseOfBusy !== false || !isBusy)
    Object.assign(tried, { cause: messages.at(-1) ?? tried.cause, isCauseOfBusy: isBusy });
  const failure = new UpdateError(
    'recreate-failed',
    result.timedOut
      ? `docker compose did not replace ${service} within ${deadlineMs / 60_000} minutes`
      : `docker compose could not replace ${service}: ${tried.cause ?? 'no reason given'}`,
    { detail: messages.filter((message) => message !== tried.cause) },
  );
  const { image = null } = changeover.moved.find(({ name }) => name === service) ?? {};
  if (image !== null && (await pullWhatIsGone(work, compose, service, image)))
    throw new TryAgain(`up ${service}`, failure);
  // There is no way back once the new version has started, so every failure is worth another try then.
  if (!isBusy && !journal.data.started) throw failure;
  const why = isLost
    ? `the connection to the engine was lost while ${service} was being replaced`
    : (messages.at(-1) ?? 'the engine was busy');
  throw new TryAgain(`up ${service}`, failure, { sentence: `${why}; trying again` });
}

/** @throws UpdateError recreate-failed where the service would get another image than the run's */
async function checkFiles({ engine, journal }: Replacement, service: string): Promise<void> {
  const saved = await findSaved(engine, journal.data);
  if (saved === null) return;
  throw new UpdateError(
    'recreate-failed',
    `${wereEdited(saved.paths)}, so ${service} is not replaced with the image that is now specified`,
  );
}

/** In milliseconds. Infinity where a container of the service may take as long as it likes to stop. */
export function deadlineOfUp(service: string, containers: readonly Container[]): number {
  return containers
    .filter((container) => serviceOf(container) === service && isUp(container))
    .reduce((sum, { stopTimeout }) => sum + stopTimeout * 1000, upDeadlineMs);
}
