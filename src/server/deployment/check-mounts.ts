import { type Product, svcProduct } from '../../core/names/product.ts';
import type { EngineApi } from '../../engine/engine-api.ts';
import { EngineError, tolerateErrors } from '../../engine/http/engine-error.ts';
import { internalLabelPrefixes } from '../../engine/objects/labels.ts';
import { DeploymentNotFoundError } from './deployment-not-found-error.ts';
import type { Deployment } from './read-deployment.ts';
import { buildUpdaterMounts } from './updater-container.ts';

/** Marks a container that is only created to check mounts. The value is the compose project. */
const probeLabel = 'svc-updater.probe';

/**
 * Checks whether an updater's mounts exist on the host, by creating and removing a container with these mounts.
 * @throws DeploymentNotFoundError no-directory, no-engine; EngineError if there is no response or a proxy rejects the
 * request
 */
export async function checkUpdaterMounts(
  engine: EngineApi,
  deployment: Deployment,
  { name }: Pick<Product, 'name'> = svcProduct,
): Promise<void> {
  const image = await engine.inspectImage(deployment.container.imageId);
  if (image === null) return;
  // Remove the containers of interrupted checks first. If the removal fails, no further container is created.
  for (const { id } of await engine.listContainers({ label: [`${probeLabel}=${deployment.project}`] }))
    await removeProbeContainer(engine, id);
  // An image built by compose has compose labels, which its containers inherit. Empty values prevent the container from
  // being listed as part of the project.
  const inherited = Object.keys(image.labels).filter((name) =>
    internalLabelPrefixes.some((prefix) => name.startsWith(prefix)),
  );
  try {
    const id = await engine.createContainer({
      name: `${name}-updater-probe-${crypto.randomUUID()}`,
      Image: deployment.container.imageId,
      Cmd: ['never-started'],
      Labels: {
        ...Object.fromEntries(inherited.map((name) => [name, ''])),
        [probeLabel]: deployment.project,
      },
      HostConfig: { Mounts: buildUpdaterMounts(deployment), NetworkMode: 'none' },
    });
    await removeProbeContainer(engine, id);
  } catch (error) {
    const isRefusal = error instanceof EngineError && error.status !== null;
    if (!isRefusal || error.code === 'refused-by-proxy' || error.status === 403) throw error;
    // Ignore all other errors, because the launch of an updater reports them.
    const missing = error.status === 400 ? findMissingPath(error.message) : null;
    if (missing !== null) throw createMissingPathError(missing, deployment);
  }
}

/** Ignores a conflict: another server of this instance may already be removing the container. */
async function removeProbeContainer(engine: EngineApi, id: string): Promise<void> {
  await engine.removeContainer(id).catch(tolerateErrors('conflict'));
}

/** Extracts the missing path from an engine error message; null if the message is about something else. */
const findMissingPath = (message: string): string | null => {
  const [, source, mounted] =
    /bind source path does not exist: (.+)$|: stat (.+): not a directory$/.exec(message) ?? [];
  return source ?? mounted ?? null;
};

function createMissingPathError(path: string, deployment: Deployment): DeploymentNotFoundError {
  const { socket, credentials, directories } = deployment;
  const known = {
    ...deployment,
    socket: path === socket ? null : socket,
    credentials: path === credentials ? null : credentials,
    directories: directories.filter((one) => one !== path),
  };
  const missing = (what: string) =>
    `the updater needs the ${what} ${path}, but it does not exist on the host`;
  if (path === socket) return new DeploymentNotFoundError('no-engine', missing('socket'), { known });
  if (path === credentials)
    return new DeploymentNotFoundError('no-directory', missing('registry credentials file'), { known });
  const message = `${path} does not exist on the host: the instance was started from a directory inside a container, for example by Portainer`;
  return new DeploymentNotFoundError('no-directory', message, { known });
}
