import type { Container } from '../engine/container.ts';
import type { Engine } from '../engine/engine.ts';
import { HostPaths } from '../engine/host-paths.ts';
import { UpdateError } from '../progress/update-error.ts';
import { type Located, locateProject } from './locate-project.ts';
import type { Log } from './log.ts';
import type { UpdateOptions } from './options.ts';
import { findOwnContainer } from './own-container.ts';
import { version } from './version.ts';

export interface Met {
  own: Container;
  paths: HostPaths;
  located: Located;
  platform: string;
}

/** Meets the engine, finds the own container, its mounts, and the project to update. Refusals: all of those. */
export async function meet(engine: Engine, options: UpdateOptions, log: Log): Promise<Met> {
  const { engine: engineVersion, platform } = await engine.versions();
  const [own, composeVersion] = await Promise.all([
    findOwnContainer(engine),
    engine.ask(['compose', 'version', '--short']),
  ]);
  const paths = new HostPaths(own.mounts);
  const located = await locateProject(engine, paths, options);
  log.info(
    `svc-updater ${version}, engine ${engineVersion}, compose ${composeVersion.trim()}; project ${located.name} in ${located.directory}`,
    {
      engine: engineVersion,
      compose: composeVersion.trim(),
      project: located.name,
      directory: located.directory,
    },
  );
  if (!paths.isWritable(located.mountedAt)) {
    throw new UpdateError('read-only', `the compose directory ${located.directory} is mounted read-only`);
  }
  return { own, paths, located, platform };
}
