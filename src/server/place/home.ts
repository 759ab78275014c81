import { dirname, isAbsolute } from 'node:path';
import { HostPaths, isWithin } from '../../core/files/host-paths.ts';
import type { Container } from '../../engine/container.ts';
import { claimOf } from '../../engine/foreign-containers.ts';
import { composeLabels } from '../../engine/labels.ts';
import type { Settings } from '../contract/options.ts';
import { HomeNotFound } from './home-not-found.ts';
import { manualCommands } from './manual-commands.ts';

/** Where the server lives: its compose project, and the host's paths of what an updater needs. */
export interface Home {
  /** The server's own container: these fields never change. The others may, and the environment has secrets. */
  container: Pick<Container, 'id' | 'imageId' | 'imageManifest' | 'imageReference'>;
  project: string;
  /** The compose directory on the host, as compose was started with it. */
  directory: string;
  /** All that the server's own container says that it was started from, as `claimOf` gives it. */
  claim: string;
  /** The server's own service: the app, where no option names another. */
  service: string;
  /** The engine's socket on the host. */
  socket: string;
  /** The compose directory and those of files that lie elsewhere; none is within another. */
  directories: readonly string[];
  /** The file with logins of registries on the host; null where the server has none. */
  credentials: string | null;
  /** The commands that update the instance by hand. */
  manual: readonly string[];
  /** Where something is mounted in the server's container that outlives it. */
  mounted: readonly string[];
}

export const noCompose = 'the server is not running as a Docker Compose service';

/** What the server's own container tells. @throws HomeNotFound */
export function readHome(own: Container, settings: Settings, realSocket: string): Home {
  const [project, directory, service] = [
    composeLabels.project,
    composeLabels.directory,
    composeLabels.service,
  ].map((label) => own.labels[label] ?? '');
  if (!project || !directory || !service) throw new HomeNotFound('not-compose', noCompose);
  const { id, imageId, imageManifest, imageReference } = own;
  const manual = manualCommands(own);
  // A volume is a directory of the host, too.
  const paths = new HostPaths(
    own.storage.flatMap((mount) =>
      mount.path.startsWith('/') ? [{ ...mount, type: 'bind', source: mount.path }] : [],
    ),
  );
  const listed = [composeLabels.files, composeLabels.envFiles].flatMap((label) =>
    (own.labels[label] ?? '').split(',').filter(isAbsolute).map(dirname),
  );
  const { registryCredentials } = settings;
  return {
    container: { id, imageId, imageManifest, imageReference },
    project,
    directory,
    claim: claimOf(own),
    service,
    socket: socketOnHost(paths, settings, realSocket, manual),
    directories: outermost([directory, ...listed, ...settings.directories]),
    credentials: registryCredentials === null ? null : paths.toHost(registryCredentials),
    manual,
    mounted: own.mounts.flatMap(({ type, destination }) =>
      type === 'bind' || type === 'volume' ? [destination] : [],
    ),
  };
}

/** Where an updater finds the engine: it has no network, so a proxy is of no use to it. */
function socketOnHost(
  paths: HostPaths,
  { engine, updaterSocket }: Settings,
  realSocket: string,
  manual: readonly string[],
): string {
  if (updaterSocket !== null) return updaterSocket;
  if (!engine.startsWith('unix://')) {
    const message = `the option updaterSocket is not set: with the engine at ${engine}, the updater needs the path of the engine's socket on the host`;
    throw new HomeNotFound('no-engine', message, { manual });
  }
  const path = engine.slice('unix://'.length);
  const socket = paths.toHost(path) ?? paths.toHost(realSocket);
  if (socket !== null) return socket;
  throw new HomeNotFound('no-engine', `${path} is not mounted from the host`, { manual });
}

function outermost(directories: readonly string[]): string[] {
  const unique = [...new Set(directories)];
  return unique.filter((one) => !unique.some((other) => other !== one && isWithin(one, other)));
}
