import { type Product, svc } from '../../core/progress/product.ts';
import type { EngineApi } from '../../engine/engine-api.ts';
import { EngineError, unless } from '../../engine/http/engine-error.ts';
import { toolLabels } from '../../engine/labels.ts';
import type { Home } from './home.ts';
import { HomeNotFound } from './home-not-found.ts';
import { updaterMounts } from './updater-container.ts';

/** The label of a container that is made to try mounts, and never started; the project is its value. */
const probeLabel = 'svc-updater.probe';

/**
 * Tries whether the engine's machine has everything that an updater gets: a container with these mounts is made of the
 * server's own image, and removed at once. Where another reason keeps it from being made, a launch will tell of it.
 * @throws HomeNotFound no-directory, no-engine; EngineError where nothing answers, or a proxy refuses
 */
export async function checkMounts(
  engine: EngineApi,
  home: Home,
  { name }: Pick<Product, 'name'> = svc,
): Promise<void> {
  const image = await engine.inspectImage(home.container.imageId);
  if (image === null) return;
  // What an earlier try has left goes first: where nothing can be removed, nothing more is made.
  for (const { id } of await engine.listContainers({ label: [`${probeLabel}=${home.project}`] }))
    await discard(engine, id);
  // An image that compose has built carries its labels, and whoever lists the project would count the container.
  const inherited = Object.keys(image.labels).filter((name) =>
    toolLabels.some((prefix) => name.startsWith(prefix)),
  );
  try {
    const id = await engine.createContainer({
      name: `${name}-updater-probe-${crypto.randomUUID()}`,
      Image: home.container.imageId,
      Cmd: ['never-started'],
      Labels: { ...Object.fromEntries(inherited.map((name) => [name, ''])), [probeLabel]: home.project },
      HostConfig: { Mounts: updaterMounts(home), NetworkMode: 'none' },
    });
    await discard(engine, id);
  } catch (error) {
    const isRefusal = error instanceof EngineError && error.status !== null;
    if (!isRefusal || error.code === 'refused-by-proxy' || error.status === 403) throw error;
    const missing = error.status === 400 ? missingPath(error.message) : null;
    if (missing !== null) throw notThere(missing, home);
  }
}

/** Another server of this instance may be removing it as well. */
async function discard(engine: EngineApi, id: string): Promise<void> {
  await engine.removeContainer(id).catch(unless('conflict'));
}

/** Reads the missing path from an error of the engine, which ends with the path. */
const missingPath = (message: string): string | null => {
  const [, source, mounted] =
    /bind source path does not exist: (.+)$|: stat (.+): not a directory$/.exec(message) ?? [];
  return source ?? mounted ?? null;
};

function notThere(path: string, { socket, credentials, manual }: Home): HomeNotFound {
  const missing = (what: string) =>
    `the updater needs the ${what} ${path}, but it does not exist on the host`;
  if (path === socket) return new HomeNotFound('no-engine', missing('socket'), { manual });
  if (path === credentials)
    return new HomeNotFound('no-directory', missing('registry login file'), { manual });
  // No commands to type, as nobody can go to that directory.
  const message = `${path} does not exist on the host: the instance was started from a directory inside another program's container, for example Portainer`;
  return new HomeNotFound('no-directory', message);
}
