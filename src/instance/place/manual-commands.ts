import { isAbsolute, join } from 'node:path';
import { parseReference } from '../../compose/reference.ts';
import { isJoinedBy, isOfComposeOne } from '../../engine/api/project-containers.ts';
import { serviceOf } from '../../engine/container.ts';
import { composeLabels, swarmLabels } from '../../engine/labels.ts';
import type { ContainerDetails } from '../../engine/socket.ts';
import { shellWord } from '../../progress/advice.ts';
import { composeCommand, upCommand } from '../../progress/compose-command.ts';
import { parseTag } from '../../release/tag.ts';

type Labelled = Pick<ContainerDetails, 'name' | 'labels' | 'imageReference'>;

/** The commands where nothing is known of how compose was started. */
const anyCompose = ['docker compose pull', 'docker compose up -d'];

/**
 * The commands that update this instance by hand, in their order, typed on the engine's machine; from the directory with
 * the compose file where they do not go there by themselves.
 * @param own the server's container; null where there is none, or none that can be seen
 * @param others of a server in a Swarm: further services that follow its releases
 */
export function manualCommands(own: Labelled | null, others: readonly string[] = []): string[] {
  if (own === null) return anyCompose;
  const swarmService = own.labels[swarmLabels.service];
  if (swarmService) return [swarmService, ...others].map((name) => swarmCommand(own, name));
  const project = startedProject(own);
  if (project === null) return anyCompose;
  return [
    `cd ${shellWord(project.directory)}`,
    `${composeCommand(project)} pull${(project.upOnly ?? []).map((each) => ` ${each}`).join('')}`,
    upCommand(project),
  ];
}

/**
 * Swarm keeps the digest of a tag, and asks for it again only when it is told an image. In place of a release's tag, the
 * reader puts in the next release.
 */
function swarmCommand({ imageReference }: Labelled, service: string): string {
  const unparsed = { repository: imageReference, tag: null, digest: null };
  const { repository, tag, digest } = parseReference(imageReference) ?? unparsed;
  const isPinned = tag === null ? digest !== null : parseTag(tag).kind === 'release';
  const image = `${repository}:${isPinned ? 'vX.Y.Z' : (tag ?? 'latest')}`;
  return `docker service update --image ${shellWord(image)} ${shellWord(service)}`;
}

/** What the labels tell of how compose was started; older versions name files from the directory. */
function startedProject(own: Labelled) {
  const { labels } = own;
  const [name, directory] = [labels[composeLabels.project], labels[composeLabels.directory]];
  if (!name || !directory) return null;
  const list = (label: string) =>
    (labels[label] ?? '')
      .split(',')
      // What was piped in (`-f -`) is no file that can be named.
      .filter((path) => path !== '' && path !== '-')
      .map((path) => (isAbsolute(path) ? path : join(directory, path)));
  return {
    name,
    directory,
    files: list(composeLabels.files),
    envFiles: list(composeLabels.envFiles),
    ...(isJoinedBy('_', own) && { oldNames: [serviceOf(own)] }),
    // A whole `up` would make anew a database that docker-compose 1 has started.
    ...(isOfComposeOne(own) && { upOnly: [serviceOf(own)] }),
  };
}
