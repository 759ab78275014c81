import { isAbsolute } from 'node:path';
import { formatComposeCommand, formatUpCommand } from '../../core/command-line/compose-command.ts';
import { parseImageReference } from '../../core/compose/pins/image-reference.ts';
import { quoteForShell } from '../../core/errors/advice.ts';
import { parseSemverTag } from '../../core/release/tag.ts';
import { hasDefaultName } from '../../engine/containers/project-containers.ts';
import { type ListedContainer, serviceOf } from '../../engine/objects/container.ts';
import { composeLabels, swarmLabels } from '../../engine/objects/labels.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';

/** Commands for an unknown compose project. */
const anyCompose = ['docker compose pull', 'docker compose up -d'];

/**
 * Returns the commands for a manual update on the engine's host, in order. Compose commands without a `cd` must be run
 * in the compose directory.
 * @param own - the server's container; null if it does not exist or cannot be inspected
 */
export function listManualUpdateCommands(own: ListedContainer | null): string[] {
  if (own === null) return anyCompose;
  const swarmService = own.labels[swarmLabels.service];
  if (swarmService) return [formatSwarmUpdateCommand(own, swarmService)];
  const project = readComposeProject(own);
  if (project === null) return anyCompose;
  return [
    `cd ${quoteForShell(project.directory)}`,
    `${formatComposeCommand(project)} pull`,
    formatUpCommand(project),
  ];
}

type StackSettings = Pick<
  ValidatedInstanceOptions,
  'product' | 'containerName' | 'updaterImage' | 'app' | 'workers'
>;

const socketPath = '/var/run/docker.sock';

/**
 * Returns two alternative commands that update the server's Swarm stack (docs/contract.md 11.7). Without a stack,
 * returns one `docker service update` command.
 * @param workers - full names of the stack's other services that are updated with the app
 */
export function listStackUpdateCommands(
  own: ListedContainer,
  { product, containerName, updaterImage, app, workers: named }: StackSettings,
  workers: readonly string[],
): string[] {
  const stack = own.labels[swarmLabels.stack];
  if (!stack) return listManualUpdateCommands(own);
  const short = (name: string) => (name.startsWith(`${stack}_`) ? name.slice(stack.length + 1) : name);
  const self = short(own.labels[swarmLabels.service] ?? '');
  const first = app ?? self;
  const services = [...new Set([first, ...(named ?? workers.map(short)), self])];
  const isUsual = named === null && first === product.services[0] && (first === self || workers.length > 0);
  const { isPinned } = pinOf(own);
  const words = [
    ...['--stack', stack],
    ...(isPinned ? ['--target', 'vX.Y.Z'] : []),
    ...(isUsual ? [] : services.flatMap((name) => ['--service', name])),
  ];
  const order = [updaterImage ?? own.imageReference, ...words].map(quoteForShell).join(' ');
  return [
    // Runs an updater container on a manager.
    `docker run --rm -v ${socketPath}:${socketPath} ${order}`,
    // Creates an updater service, which Swarm restarts on failure.
    `docker service create --name ${containerName} --detach --constraint node.role==manager --restart-condition on-failure --restart-max-attempts 3 --mount type=bind,src=${socketPath},dst=${socketPath} ${order}`,
  ];
}

/**
 * The command names the image, because otherwise Swarm does not resolve the tag again. The user replaces the
 * placeholder `vX.Y.Z` with the next release.
 */
function formatSwarmUpdateCommand(own: ListedContainer, service: string): string {
  const { repository, tag, isPinned } = pinOf(own);
  const image = `${repository}:${isPinned ? 'vX.Y.Z' : (tag ?? 'latest')}`;
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

/** Reads the compose project and its files from the compose labels; null if the labels are missing. */
function readComposeProject(own: ListedContainer) {
  const { labels } = own;
  const [name, directory] = [labels[composeLabels.project], labels[composeLabels.directory]];
  if (!name || !directory) return null;
  const list = (label: string) =>
    // A compose file from standard input (`-f -`) has no path.
    (labels[label] ?? '').split(',').filter((path) => isAbsolute(path));
  return {
    name,
    directory,
    files: list(composeLabels.files),
    envFiles: list(composeLabels.envFiles),
    ...(hasDefaultName('_', own) && { oldNames: [serviceOf(own)] }),
  };
}
