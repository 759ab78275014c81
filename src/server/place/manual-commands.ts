import { isAbsolute } from 'node:path';
import { parseReference } from '../../core/compose/reference.ts';
import { shellWord } from '../../core/progress/advice.ts';
import { composeCommand, upCommand } from '../../core/progress/compose-command.ts';
import { parseTag } from '../../core/release/tag.ts';
import { isJoinedBy } from '../../engine/api/project-containers.ts';
import { type ListedContainer, serviceOf } from '../../engine/container.ts';
import { composeLabels, swarmLabels } from '../../engine/labels.ts';
import type { Settings } from '../contract/options.ts';

/** The commands where nothing is known of how compose was started. */
const anyCompose = ['docker compose pull', 'docker compose up -d'];

/**
 * The commands that update this instance by hand, in their order, typed on the engine's machine; from the directory with
 * the compose file where they do not go there by themselves.
 * @param own the server's container; null where there is none, or none that can be seen
 */
export function manualCommands(own: ListedContainer | null): string[] {
  if (own === null) return anyCompose;
  const swarmService = own.labels[swarmLabels.service];
  if (swarmService) return [swarmCommand(own, swarmService)];
  const project = startedProject(own);
  if (project === null) return anyCompose;
  return [`cd ${shellWord(project.directory)}`, `${composeCommand(project)} pull`, upCommand(project)];
}

type StackSettings = Pick<Settings, 'product' | 'containerName' | 'updaterImage' | 'app' | 'workers'>;

const socketPath = '/var/run/docker.sock';

/**
 * The commands, either of which updates the stack of a server that is a task of Swarm (docs/contract.md 11.7): on a
 * manager, and as a service that outlives it. A service without a stack has Swarm's own command.
 * @param workers the other services of the stack that follow its releases, by their whole names
 */
export function stackCommands(
  own: ListedContainer,
  { product, containerName, updaterImage, app, workers: named }: StackSettings,
  workers: readonly string[],
): string[] {
  const stack = own.labels[swarmLabels.stack];
  if (!stack) return manualCommands(own);
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
  const order = [updaterImage, ...words].map(shellWord).join(' ');
  return [
    `docker run --rm -v ${socketPath}:${socketPath} ${order}`,
    `docker service create --name ${containerName} --detach --constraint node.role==manager --restart-condition on-failure --restart-max-attempts 3 --mount type=bind,src=${socketPath},dst=${socketPath} ${order}`,
  ];
}

/**
 * Swarm keeps the digest of a tag, and asks for it again only when it is told an image. In place of a release's tag, the
 * reader puts in the next release.
 */
function swarmCommand(own: ListedContainer, service: string): string {
  const { repository, tag, isPinned } = pinOf(own);
  const image = `${repository}:${isPinned ? 'vX.Y.Z' : (tag ?? 'latest')}`;
  return `docker service update --image ${shellWord(image)} ${shellWord(service)}`;
}

function pinOf({ imageReference }: ListedContainer) {
  const unparsed = { repository: imageReference, tag: null, digest: null };
  const { repository, tag, digest } = parseReference(imageReference) ?? unparsed;
  return { repository, tag, isPinned: tag === null ? digest !== null : parseTag(tag).kind === 'release' };
}

/** How compose was started, as the labels say. */
function startedProject(own: ListedContainer) {
  const { labels } = own;
  const [name, directory] = [labels[composeLabels.project], labels[composeLabels.directory]];
  if (!name || !directory) return null;
  const list = (label: string) =>
    // What was piped in (`-f -`) is no file that can be named.
    (labels[label] ?? '').split(',').filter((path) => isAbsolute(path));
  return {
    name,
    directory,
    files: list(composeLabels.files),
    envFiles: list(composeLabels.envFiles),
    ...(isJoinedBy('_', own) && { oldNames: [serviceOf(own)] }),
  };
}
