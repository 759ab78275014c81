import { basename } from 'node:path';
import { parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import { isNumberedTag, parsePinTag } from '../../../core/release/pin-tag.ts';
import { type Container, isUp } from '../../../engine/objects/container.ts';
import { formatHealthCheckOutput } from '../../../engine/objects/health-check.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { Log } from '../../run/log/run-log.ts';
import {
  type InspectedProject,
  type Installation,
  type InstalledService,
  updatedServicesOf,
} from './installation.ts';
import { migrationServicesOf } from './services/migrations.ts';

/** Logs the running version and its pin, and warns about stopped and unhealthy containers. */
export function logInstallation(installation: Installation, log: Log): void {
  const { app, workers, kind, files, runningVersion, followers } = installation;
  const migrations = migrationServicesOf(installation);
  const isLasting = ({ name }: InstalledService) => !migrations.includes(name);
  const moved = updatedServicesOf(installation).filter(isLasting);
  const names = joinWithAnd(moved.map(({ name }) => name));
  const file = basename(files.composeFiles[0]?.path ?? '');
  const pinnedBy = joinWithAnd([...new Set(moved.map(({ pin }) => pin.location.description))]);
  const from = formatRunningVersion(installation);
  // The running version is not a secret, and must remain visible even if a masked variable contains it.
  log.addMaskRules(() => ({ shown: [from] }));
  const runs = moved.length > 1 ? 'run' : 'runs';
  const { tag } = app.pin;
  // Name the version label as the source, because the image may have inherited the label.
  const running = isNumberedTag(tag) || from === tag.text ? from : `${tag.text} (version label: ${from})`;
  log.info(`${names} ${runs} ${running}, pinned by ${pinnedBy}; ${file} is ${kind}`, { from, kind });
  if (!runningVersion)
    log.info('the running images do not specify their version, so a downgrade cannot be detected');
  if (app.running === 0) log.info(`${app.name} is stopped; the update will start it`);
  else describeReplicas(app, [], log);
  for (const worker of workers.filter(isLasting)) {
    const down = worker.containers.filter((container) => !isUp(container));
    if (worker.running === 0) log.info(`${worker.name} is stopped; it will be updated but not started`);
    else if (down.length > worker.stopped.length) {
      log.warn(`${worker.name} is stopped because its replacement was interrupted; the update will start it`);
    } else describeReplicas(worker, down, log);
  }
  for (const { name, containers } of moved) {
    const restarting = containers.find(({ status }) => status === 'restarting');
    if (restarting) log.warn(`${restarting.name} is in a restart loop; check docker logs ${restarting.name}`);
    const failed = containers.find(({ status, health }) => status === 'running' && health === 'unhealthy');
    if (failed === undefined) continue;
    const what = failed.healthCheck.cannotRun
      ? `the health check of ${name} cannot run, so the update of ${name} cannot be verified`
      : `${name} is unhealthy even before the update, so its update cannot be verified`;
    log.warn(`${what}${formatHealthCheckOutput(log.maskText(failed.lastHealthOutput))}`);
  }
  const shared = joinWithAnd(followers.map(({ name }) => name));
  if (followers.length === 1)
    log.info(`${shared} shares a namespace with ${names} and will also be recreated`);
  if (followers.length > 1) log.info(`${shared} share a namespace with ${names} and will also be recreated`);
}

/** Logs the number of a service's containers if there are several, and the containers that stay stopped. */
function describeReplicas(
  { name, containers }: InstalledService,
  left: readonly Container[],
  log: Log,
): void {
  if (containers.length < 2) return;
  const stopped = left.map((container) => `; ${container.name} is stopped and will not be started`);
  log.info(`${name} has ${containers.length} containers${stopped.join('')}`);
}

/** Returns the running version, such as `v1.4.2`. Returns the tag if the version is unknown or partial. */
export const formatRunningVersion = ({ runningVersion, prefix, app }: InspectedProject): string => {
  const reference = parseImageReference(app.containers[0]?.imageReference ?? '');
  const tag = parsePinTag(reference?.tag ?? 'latest');
  if (runningVersion && !(tag.kind === 'part' && tag.version === runningVersion))
    return `${prefix ?? ''}${runningVersion}`;
  return reference === null ? 'an unknown version' : tag.text;
};
