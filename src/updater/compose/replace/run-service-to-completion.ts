import { formatComposeCommand } from '../../../core/command-line/compose-command.ts';
import { requireUpdateError, UpdateError } from '../../../core/errors/update-error.ts';
import { listProjectContainers, projectFilterOf } from '../../../engine/containers/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import { formatSeconds, joinWithAnd } from '../../run/log/format-values.ts';
import { isPreviousContainer, isServiceUpdated, type Rollout } from '../../run/state/rollout.ts';
import { awaitHealthyServices } from '../health/await-healthy.ts';
import type { ReplaceStep } from './replace-steps.ts';
import type { ReplacementContext } from './replacement.ts';

/**
 * Runs a service to completion, such as a migration (docs/contract.md 2.11). Never stops the service, because its work
 * would stay half done.
 * @param bringUp - starts the service
 * @throws UpdateError migration-failed, also if the service does not finish before the timeout
 */
export async function runServiceToCompletion(
  { service: name, scale }: Extract<ReplaceStep, { kind: 'run-once' }>,
  { engine, compose: { project }, changeover: rollout, options, log, starts }: ReplacementContext,
  bringUp: () => Promise<void>,
): Promise<void> {
  const list = async () => (await listProjectContainers(engine, project.name)).containers;
  const own = (containers: readonly Container[]) => containers.filter((each) => serviceOf(each) === name);
  const look = async () => {
    const containers = own(await list());
    return [{ name, containers, has: containers.length, needs: scale, isToEnd: true }];
  };
  const rules = { app: '', timeoutMs: options.limits.waitTimeoutMs, missingToleranceMs: 0, starts };
  const toEnd = () =>
    awaitHealthyServices(
      { engine, log },
      { eventFilters: projectFilterOf(project.name), inspect: look },
      rules,
    ).catch(explain);
  const explain = async (cause: unknown): Promise<never> => {
    const error = requireUpdateError(cause, 'broken');
    const now = await list();
    const isOn = own(now).some(isUp);
    const command = formatComposeCommand(project);
    throw new UpdateError('migration-failed', error.message, {
      state: `nothing was rolled back, because data may have been migrated; the files have already been updated; ${name} ${isOn ? 'is still running and was not stopped' : 'failed'}; ${describeServiceStates(rollout, now)}`,
      advice: isOn
        ? `Follow the log with ${command} logs -f ${name}. When ${name} has finished, run {command} again, with a longer --wait-timeout if necessary.`
        : `Check the output of ${command} logs ${name}. Fix the cause, then run {command} again. The update will also run ${name} again.`,
      detail: error.detail,
      cause,
    });
  };
  // If a killed run has already started the service, wait for the service to finish, and accept the result.
  if (own(await list()).some(isUp)) {
    log.info(`${name} is already running; waiting for it to finish`);
    await toEnd();
    const moved = rollout.moved.find((each) => each.name === name);
    if (moved !== undefined && isServiceUpdated(rollout, moved, await list())) return;
  }
  log.info(`running ${name} and waiting for it to finish`);
  const beganAt = performance.now();
  await bringUp();
  await toEnd();
  log.info(`${name} finished successfully after ${formatSeconds(performance.now() - beganAt, 1)}`);
}

/** Describes the states of the services that keep running, such as `app is running v1.5.0`. */
function describeServiceStates(rollout: Rollout, now: readonly Container[]): string {
  const names = rollout.moved.filter(({ runsOnce }) => !runsOnce).map(({ name }) => name);
  const isUpNow = (name: string) => now.filter((each) => serviceOf(each) === name && isUp(each));
  const stopped = names.filter((name) => isUpNow(name).length === 0);
  const old = names.filter((name) => isUpNow(name).some((each) => isPreviousContainer(rollout, each)));
  const fresh = names.filter((name) => isUpNow(name).some((each) => !isPreviousContainer(rollout, each)));
  const are = (list: readonly string[]) => `${joinWithAnd(list)} ${list.length > 1 ? 'are' : 'is'}`;
  return [
    ...(fresh.length > 0 ? [`${are(fresh)} running ${rollout.words.goal}`] : []),
    ...(old.length > 0 ? [`${are(old)} still running the old version`] : []),
    ...(stopped.length > 0 ? [`${are(stopped)} stopped`] : []),
  ].join(', ');
}
