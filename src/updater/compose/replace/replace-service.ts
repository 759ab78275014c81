import { UpdateError } from '../../../core/errors/update-error.ts';
import { parseComposeMessages } from '../../../engine/cli/compose-output.ts';
import { isConnectionLost } from '../../../engine/cli/is-connection-lost.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import { awaitWithHeartbeat } from '../../run/log/heartbeat.ts';
import { describeEditedFiles } from '../../run/log/outcome-details.ts';
import { RetryableError } from '../../run/run-steps.ts';
import { findUserEdits } from '../concurrent-changes/find-user-edits.ts';
import { pullMissingImage } from '../pull/pull-updated-images.ts';
import { awaitPreStartHooks, findPreStartHookError } from './await-hooks.ts';
import type { ReplaceStep } from './replace-steps.ts';
import type { ReplacementContext } from './replacement.ts';

/** Time limit in ms for an `up` command, excluding the grace periods of containers that compose stops. */
const upTimeoutMs = 900_000;

/**
 * Matches errors that occur while the engine is finishing work. The work began before compose or the engine was killed.
 */
const busyEngineMessage =
  /is already in use by container|removal of container \S+ is already in progress|No such container|is marked for removal|cannot stop container/i;

/**
 * Matches the error about a task that was left behind when the engine was killed. The task's container cannot start and
 * must be recreated.
 */
const stuckTaskMessage = /task \S+ already exists/i;

/** Results of earlier `up` commands for a service. */
export interface UpAttempts {
  /**
   * Message of the error to report. A message about a busy engine does not replace another message, because the engine
   * may be busy with an earlier command.
   */
  cause?: string | undefined;
  isCauseOfBusy?: boolean;
  isStuck?: boolean;
}

/**
 * Replaces the containers of a service with a single `up` command.
 * @param before - containers of the project before the command
 * @param look - lists the containers of the project after the command
 * @throws RetryableError; UpdateError recreate-failed
 */
export async function replaceService(
  step: Extract<ReplaceStep, { kind: 'up' }>,
  work: ReplacementContext,
  { before, look, tried }: { before: readonly Container[]; look: () => Promise<unknown>; tried: UpAttempts },
): Promise<void> {
  const { engine, compose, changeover: rollout, journal, log } = work;
  const { service } = step;
  await requireUneditedFiles(work, service);
  // Changes made by the new version's hook cannot be undone, so the new version counts as started.
  if (step.hook && !journal.data.started) await journal.write({ started: true });
  const deadlineMs = computeUpTimeoutMs(service, before);
  if (step.hook) {
    await awaitPreStartHooks(engine, { project: compose.project.name, name: service }, log);
    log.info(`running the pre_start hook of ${service}; the service is unavailable until the hook finishes`);
  }
  const forceRecreate = step.force || tried.isStuck === true;
  const up = compose.up(new Map([[service, step.scale]]), { start: step.start, forceRecreate, deadlineMs });
  const result = await awaitWithHeartbeat(log, `waiting for docker compose to replace ${service}`, up);
  await look();
  if (result.exitCode === 0) return;
  const messages = parseComposeMessages(result.stderr);
  // A failed hook is not retried. Half of its work may be done, so its author must decide what to do.
  const failed = step.hook ? findPreStartHookError(service, messages) : null;
  if (failed) throw failed;
  const isLost = isConnectionLost(result.stderr);
  tried.isStuck ||= stuckTaskMessage.test(result.stderr);
  const isBusy = isLost || stuckTaskMessage.test(result.stderr) || busyEngineMessage.test(result.stderr);
  if (tried.isCauseOfBusy !== false || !isBusy)
    Object.assign(tried, { cause: messages.at(-1) ?? tried.cause, isCauseOfBusy: isBusy });
  const failure = new UpdateError(
    'recreate-failed',
    result.timedOut
      ? `docker compose did not replace ${service} within ${deadlineMs / 60_000} minutes`
      : `docker compose could not replace ${service}: ${tried.cause ?? 'no reason given'}`,
    { detail: messages.filter((message) => message !== tried.cause) },
  );
  const { image = null } = rollout.moved.find(({ name }) => name === service) ?? {};
  if (image !== null && (await pullMissingImage(work, compose, service, image)))
    throw new RetryableError(`up ${service}`, failure);
  // Once the new version has started, always try again, because a rollback may be impossible.
  if (!isBusy && !journal.data.started) throw failure;
  const why = isLost
    ? `the connection to the engine was lost while ${service} was being replaced`
    : (messages.at(-1) ?? 'the engine was busy');
  throw new RetryableError(`up ${service}`, failure, { sentence: `${why}; trying again` });
}

/**
 * Fails if a user has edited the files so that the next `up` would use other images.
 * @throws UpdateError recreate-failed
 */
async function requireUneditedFiles({ engine, journal }: ReplacementContext, service: string): Promise<void> {
  const saved = await findUserEdits(engine, journal.data);
  if (saved === null) return;
  throw new UpdateError(
    'recreate-failed',
    `${describeEditedFiles(saved.paths)}, so ${service} was not updated to the image that the files now specify`,
  );
}

/** Includes the grace periods of the service's running containers. Infinite if one of them is unlimited. */
export function computeUpTimeoutMs(service: string, containers: readonly Container[]): number {
  return containers
    .filter((container) => serviceOf(container) === service && isUp(container))
    .reduce((sum, { stopTimeout }) => sum + stopTimeout * 1000, upTimeoutMs);
}
