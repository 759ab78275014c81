import { dirname, isAbsolute } from 'node:path';
import { HostPaths, isWithin } from '../../core/mounts/host-paths.ts';
import { composeOriginOf } from '../../engine/comparison/find-unrelated-containers.ts';
import type { Container } from '../../engine/objects/container.ts';
import { composeLabels } from '../../engine/objects/labels.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import { DeploymentNotFoundError } from './deployment-not-found-error.ts';
import type { KnownDeployment } from './manual-commands.ts';

/** The server's deployment: its compose project, and the host paths of the files that an updater needs. */
export interface Deployment {
  /** Fields of the server's own container that never change. The environment is omitted because it contains secrets. */
  container: Pick<Container, 'id' | 'imageId' | 'imageManifest' | 'imageReference'>;
  project: string;
  /** Compose directory on the host, from the compose labels. */
  directory: string;
  /** Compose directory and files from the labels of the server's container, as `composeOriginOf` returns them. */
  claim: string;
  /** Compose service that runs this server. It is the app, unless the option `app` names another service. */
  service: string;
  /** Host path of the engine's socket. */
  socket: string;
  /**
   * Compose directory, the directories of the compose files, and those from the option `directories`. None of these
   * directories contains another.
   */
  directories: readonly string[];
  /** Host path of the file with registry credentials; null if there is none. */
  credentials: string | null;
  /** Mount points in the server's container. Their contents outlive the container. */
  mounted: readonly string[];
}

export const notComposeServiceMessage =
  'the server is not running as a Docker Compose service, so it must be updated in the way it was installed';

/** Reads the deployment from the labels and mounts of the server's own container. @throws DeploymentNotFoundError */
export function readDeployment(
  own: Container,
  settings: ValidatedInstanceOptions,
  realSocket: string,
): Deployment {
  const [project, directory, service] = [
    composeLabels.project,
    composeLabels.directory,
    composeLabels.service,
  ].map((label) => own.labels[label] ?? '');
  if (!project || !directory || !service)
    throw new DeploymentNotFoundError('not-compose', notComposeServiceMessage);
  const { id, imageId, imageManifest, imageReference } = own;
  // A volume is also a directory on the host, so it is treated like a bind mount.
  const paths = new HostPaths(
    own.storage.flatMap((mount) =>
      mount.path.startsWith('/') ? [{ ...mount, type: 'bind', source: mount.path }] : [],
    ),
  );
  const listed = [composeLabels.files, composeLabels.envFiles].flatMap((label) =>
    (own.labels[label] ?? '').split(',').filter(isAbsolute).map(dirname),
  );
  const { registryCredentials } = settings;
  const known = {
    container: { id, imageId, imageManifest, imageReference },
    project,
    directory,
    service,
    directories: outermostDirectoriesOf([directory, ...listed, ...settings.directories]),
    credentials: registryCredentials === null ? null : paths.toHost(registryCredentials),
  };
  return {
    ...known,
    claim: composeOriginOf(own),
    socket: findSocketOnHost(paths, settings, realSocket, known),
    mounted: own.mounts.flatMap(({ type, destination }) =>
      type === 'bind' || type === 'volume' ? [destination] : [],
    ),
  };
}

/** Returns the host path of the engine's socket. An updater has no network, so it cannot use a proxy. */
function findSocketOnHost(
  paths: HostPaths,
  { engine, updaterSocket }: ValidatedInstanceOptions,
  realSocket: string,
  known: KnownDeployment,
): string {
  if (updaterSocket !== null) return updaterSocket;
  if (!engine.startsWith('unix://')) {
    const message = `the option updaterSocket is not set: because this server reaches the engine at ${engine}, the updater must be given the path of the engine's socket on the host`;
    throw new DeploymentNotFoundError('no-engine', message, { known });
  }
  const path = engine.slice('unix://'.length);
  const socket = paths.toHost(path) ?? paths.toHost(realSocket);
  if (socket !== null) return socket;
  throw new DeploymentNotFoundError('no-engine', `${path} is not mounted from the host`, { known });
}

function outermostDirectoriesOf(directories: readonly string[]): string[] {
  const unique = [...new Set(directories)];
  return unique.filter((one) => !unique.some((other) => other !== one && isWithin(one, other)));
}
