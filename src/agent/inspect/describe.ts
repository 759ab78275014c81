import { basename } from 'node:path';
import { isUp } from '../../engine/container.ts';
import type { Log } from '../log/log.ts';
import { and } from '../log/words.ts';
import type { Installation } from './installation.ts';

export function describeInstallation(installation: Installation, log: Log): void {
  const { services, kind, files, runningVersion, followers, pins } = installation;
  const names = and(services.map(({ name }) => name));
  const file = basename(files.composeFiles[0]?.path ?? '');
  const pinnedBy = and([...new Set(pins.map(({ place }) => place.description))]);
  log.info(
    `${names} ${services.length > 1 ? 'run' : 'runs'} ${fromWord(installation)}; ${file} is ${kind}, pinned by ${pinnedBy}`,
    {
      from: fromWord(installation),
      kind,
    },
  );
  if (!runningVersion)
    log.info('the running images do not tell their version: there is no check against a downgrade');
  for (const { name, running, containers, isApp, stopped } of services) {
    const down = containers.filter((container) => !isUp(container));
    if (running === 0)
      log.info(`${name} is stopped: it is updated and ${isApp ? 'started' : 'left stopped'}`);
    else if (!isApp && down.length > stopped.length) {
      log.warn(`${name} is stopped since something was interrupted that replaced it: it is started again`);
    } else if (containers.length > 1) {
      const left = isApp ? [] : down.map((container) => `, ${container.name} is stopped and left stopped`);
      log.info(`${name} has ${containers.length} containers${left.join('')}`);
    }
  }
  if (followers.length > 0) {
    log.info(
      `${and(followers.map(({ name }) => name))} shares a namespace with ${names}: it is recreated with it`,
    );
  }
}

/** `v1.4.2`, or the tag where no version is known. */
export const fromWord = (installation: Installation): string => {
  if (installation.runningVersion) return `v${installation.runningVersion}`;
  const reference = installation.services[0]?.containers[0]?.imageReference ?? '';
  return reference.slice(reference.lastIndexOf(':') + 1) || 'an unknown version';
};
