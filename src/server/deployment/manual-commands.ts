import { hostname } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { parseImageReference } from '../../core/compose/pins/image-reference.ts';
import { formatMountFlags, quoteForShell } from '../../core/errors/advice.ts';
import { isWithin } from '../../core/mounts/host-paths.ts';
import { createProduct, type Product, svcProduct } from '../../core/names/product.ts';
import { parseSemverTag } from '../../core/release/tag.ts';
import type { ListedContainer } from '../../engine/objects/container.ts';
import { swarmLabels } from '../../engine/objects/labels.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';

/** The fields of a `Deployment` that are known before a manual update. `directories` exist on the host. */
export interface KnownDeployment {
  container?: { imageReference: string };
  project?: string;
  directory?: string;
  service?: string;
  directories?: readonly string[];
  socket?: string | null;
  credentials?: string | null;
  isPodman?: boolean;
  /** The server's task and its stack's workers, if the server runs in a Swarm. */
  swarm?: { own: ListedContainer; workers: readonly string[] };
}

const socketPath = '/var/run/docker.sock';

/**
 * Returns alternative commands, each of which updates the instance on the engine's host. They must be run in the
 * compose directory. The updater changes a pinned version, and also updates an instance that uses `latest`.
 */
export function listManualUpdateCommands(
  known: KnownDeployment,
  settings: ValidatedInstanceOptions,
  target = 'vX.Y.Z',
): string[] {
  if (known.swarm) return listStackUpdateCommands(known.swarm, settings, target);
  const { version, product, containerName, updaterImage, updaterSocket, restorePoint, app, workers } =
    settings;
  const { project, directory, directories = [], service, credentials, isPodman = false } = known;
  const socket = known.socket ?? (isPodman ? '/run/podman/podman.sock' : (updaterSocket ?? socketPath));
  const isMounted = directories.some((one) => isWithin(directory ?? '', one));
  const first = app ?? service ?? product.services[0];
  const services = [...new Set([first, ...(workers ?? []), service ?? first])];
  const isUsual = workers === null && first === product.services[0];
  const engineOptions = [
    ...['-v', `${socket}:${socketPath}`],
    ...(credentials ? ['-v', `${credentials}:/root/.docker/config.json:ro`] : []),
    ...(product === svcProduct ? [] : ['-e', `SVC_UPDATER_PRODUCT=${formatProduct(product, containerName)}`]),
  ];
  const isSaving = restorePoint && !isPodman;
  const program = isPodman ? 'podman' : 'docker';
  // Without the option, the server runs in the product's own image of svc-updater.
  const ownImage = product.updatesImage && `${product.updatesImage}:${version}`;
  const image = updaterImage ?? known.container?.imageReference ?? ownImage ?? null;
  const updaterOptions = [
    ...(project && directory ? ['--project', project, '--dir', directory] : []),
    ...(isUsual ? [] : services.flatMap((name) => ['--service', name])),
    ...(isSaving ? ['--restore-point'] : []),
    ...['--target', target],
  ];
  return [
    [
      // A crashed updater is restarted, because it may have stopped services to save their data.
      `${program} run ${isSaving ? '--restart on-failure:3' : '--rm'} --stop-timeout 120`,
      ...engineOptions.map(quoteForShell),
      // The shell inserts the compose directory if the directory on the host is unknown.
      ...(isMounted ? [] : [directory ? `-v "$PWD":${quoteForShell(directory)}` : '-v "$PWD:$PWD"']),
      ...(directories.length > 0 ? [formatMountFlags(...directories)] : []),
      // The host name is the id of the server's container. Its image is not known without an engine.
      image === null
        ? `$(${program} inspect -f '{{.Image}}' ${quoteForShell(hostname())})`
        : quoteForShell(image),
      ...updaterOptions.map(quoteForShell),
    ].join(' '),
  ];
}

/** Formats the product record for an updater image that may not contain it, without values derived from the name. */
function formatProduct(product: Product, containerName: string): string {
  const usual = new Map(Object.entries(createProduct({ name: product.name })));
  const own = Object.entries({ ...product, containerName }).filter(
    ([key, value]) => !isDeepStrictEqual(value, usual.get(key)),
  );
  return JSON.stringify({ name: product.name, ...Object.fromEntries(own) });
}

/**
 * Returns two alternative commands that update the server's Swarm stack (docs/contract.md 11.7). Without a stack,
 * returns one `docker service update` command.
 */
function listStackUpdateCommands(
  { own, workers }: NonNullable<KnownDeployment['swarm']>,
  { product, containerName, updaterImage, app, workers: named }: ValidatedInstanceOptions,
  target: string,
): string[] {
  const stack = own.labels[swarmLabels.stack];
  if (!stack) return [formatSwarmUpdateCommand(own, target)];
  const short = (name: string) => (name.startsWith(`${stack}_`) ? name.slice(stack.length + 1) : name);
  const self = short(own.labels[swarmLabels.service] ?? '');
  const first = app ?? self;
  const services = [...new Set([first, ...(named ?? workers.map(short)), self])];
  const isUsual = named === null && first === product.services[0] && (first === self || workers.length > 0);
  const { isPinned } = pinOf(own);
  const options = [
    ...['--stack', stack],
    ...(isPinned ? ['--target', target] : []),
    ...(isUsual ? [] : services.flatMap((name) => ['--service', name])),
  ];
  const updater = [updaterImage ?? own.imageReference, ...options].map(quoteForShell).join(' ');
  return [
    // Runs an updater container on a manager.
    `docker run --rm -v ${socketPath}:${socketPath} ${updater}`,
    // Creates an updater service, which Swarm restarts on failure.
    `docker service create --name ${containerName} --detach --constraint node.role==manager --restart-condition on-failure --restart-max-attempts 3 --mount type=bind,src=${socketPath},dst=${socketPath} ${updater}`,
  ];
}

/** The command names the image, because otherwise Swarm does not resolve the tag again. */
function formatSwarmUpdateCommand(own: ListedContainer, target: string): string {
  const { repository, tag, isPinned } = pinOf(own);
  const image = `${repository}:${isPinned ? target : (tag ?? 'latest')}`;
  const service = own.labels[swarmLabels.service] ?? '';
  return `docker service update --image ${quoteForShell(image)} ${quoteForShell(service)}`;
}

function pinOf({ imageReference }: ListedContainer) {
  const unparsed = { repository: imageReference, tag: null, digest: null };
  const { repository, tag, digest } = parseImageReference(imageReference) ?? unparsed;
  return {
    repository,
    tag,
    isPinned: tag === null ? digest !== null : parseSemverTag(tag).kind === 'release',
  };
}
