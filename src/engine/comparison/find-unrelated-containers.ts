import {
  type Container,
  containerNumberOf,
  isUp,
  type ListedContainer,
  serviceOf,
} from '../objects/container.ts';
import { composeLabels } from '../objects/labels.ts';

/** Facts about an instance. They must not come from its containers' labels alone, because labels cannot be trusted. */
export interface KnownInstance {
  project: string;
  /** Host path of the directory with the compose files. */
  directory: string;
  /** Name of the app's service. */
  app: string;
  /** Compose origins of the instance from sources other than the checked labels, in the format of `composeOriginOf`. */
  knownOrigins: ReadonlySet<string>;
  /**
   * Id of the container in which the server runs; null for a manual update. The container has one of the known origins.
   */
  serverId: string | null;
  /** Whether an interrupted run may have left some containers with a different image. */
  isHalfReplaced: boolean;
}

/** Containers that compose would treat as part of an instance, although some do not belong to it. */
interface UnrelatedContainers {
  message: string;
  /** Contains the command that removes the containers, but no path from a label: labels cannot be trusted. */
  advice: string;
}

/** Returns the directory, compose files and env files in a container's labels. */
const originPartsOf = ({ labels }: Pick<Container, 'labels'>): string[] =>
  [composeLabels.directory, composeLabels.files, composeLabels.envFiles].map((label) => labels[label] ?? '');

/** Joins the directory and the files from which a container was started, as its labels report them. */
export const composeOriginOf = (container: Pick<Container, 'labels'>): string =>
  originPartsOf(container).join('\n');

/** Returns the value of `composeOriginOf` for containers that compose starts from this project. */
export const expectedComposeLabelsOf = (project: {
  directory: string;
  files: readonly string[];
  envFiles: readonly string[];
}): string => [project.directory, project.files.join(), project.envFiles.join()].join('\n');

/**
 * Texts for a message about containers of one service that have different origins. `foreign` is used if it is known
 * which containers are foreign; otherwise, `all` is used.
 */
interface OriginDifference {
  foreign: string;
  all: string;
}

const otherImage: OriginDifference = {
  foreign: 'from an image of another repository',
  all: 'run images of different repositories',
};
const otherDirectory = differentFrom('another directory', 'different directories');
/** Texts for the parts of an origin, in the order of `originPartsOf`. */
const otherParts = [
  otherDirectory,
  differentFrom('other compose files', 'different compose files'),
  differentFrom('other env files', 'different env files'),
];

function differentFrom(one: string, several: string): OriginDifference {
  return { foreign: `from ${one}`, all: `were started from ${several}` };
}

/** Returns the repository of a container's image; null if only the image's id is known. */
function repositoryOf({ imageReference }: Pick<Container, 'imageReference'>): string | null {
  if (/^(?:sha256:|[0-9a-f]{12,64}$|$)/.test(imageReference)) return null;
  return imageReference.replace(/@.*$/, '').replace(/:[^:/]*$/, '');
}

/**
 * Finds containers that another user may have started (docs/contract.md 4.10). Returns null if there are none.
 * @param containers - containers of the project, without one-off containers, hooks and leftovers of an interrupted
 * compose command
 */
export function findUnrelatedContainers(
  containers: readonly ListedContainer[],
  known: KnownInstance,
): UnrelatedContainers | null {
  // Compose creates a service's containers from one directory, one list of files and one repository. The origins of
  // different services may differ: each service can be started separately, and projects in two directories may have the
  // same name.
  for (const [service, all] of Map.groupBy(containers, serviceOf)) {
    // Skip names that no service in a compose file can have, because the messages below print the name.
    if (!/^[\w.][\w.-]*$/.test(service)) continue;
    const odd = findOriginMismatch(service, all, known) ?? findImageMismatch(all, known);
    const twin = odd === null && !known.isHalfReplaced ? findDuplicateNumbers(service, all, known) : null;
    if (twin !== null) return twin;
    if (odd === null) continue;
    return odd.isCertain
      ? describeUnrelated(odd, service, known)
      : describeMismatch(odd, service, known, containers);
  }
  return null;
}

interface OriginMismatch {
  /** The foreign containers; all containers of the service if it is unknown which of them are foreign. */
  containers: readonly ListedContainer[];
  by: OriginDifference;
  isCertain: boolean;
}

function findOriginMismatch(
  service: string,
  all: readonly ListedContainer[],
  known: KnownInstance,
): OriginMismatch | null {
  const isOwn = (container: ListedContainer) => known.knownOrigins.has(composeOriginOf(container));
  const isHere = (container: ListedContainer) =>
    container.labels[composeLabels.directory] === known.directory;
  const isApp = service === known.app;
  const isOfServer = known.serverId !== null && (isApp || all.some(({ id }) => id === known.serverId));
  // If no container has a known origin, trust those from the instance's directory. The operator has mounted this
  // directory, or the server belongs to it.
  const own = isOfServer || all.some(isOwn) ? all.filter(isOwn) : all.filter(isHere);
  if (own.length === 0 && !isApp) return null;
  const odd = all.filter((each) => !own.includes(each));
  const [first] = own.map(composeOriginOf);
  if (odd.length > 0) {
    const truth = first ?? [...known.knownOrigins][0] ?? known.directory;
    return { containers: odd, by: differenceOf(odd, truth), isCertain: true };
  }
  if (first === undefined || all.every((each) => isOwn(each) || composeOriginOf(each) === first)) return null;
  return { containers: all, by: differenceOf(all, first), isCertain: false };
}

/**
 * Returns the message texts for the first part of the origin, such as the directory, in which these containers differ
 * from `claim`.
 */
function differenceOf(odd: readonly ListedContainer[], claim: string): OriginDifference {
  const truth = claim.split('\n');
  const at = truth.findIndex((part, at) => odd.some((each) => originPartsOf(each)[at] !== part));
  return otherParts[at] ?? otherDirectory;
}

function findImageMismatch(all: readonly ListedContainer[], known: KnownInstance): OriginMismatch | null {
  const images = new Set(all.map(repositoryOf).filter((repository) => repository !== null));
  if (images.size < 2 || known.isHalfReplaced) return null;
  const server = all.find(({ id }) => id === known.serverId);
  const own = server === undefined ? null : repositoryOf(server);
  const odd = own === null ? all : all.filter((each) => ![own, null].includes(repositoryOf(each)));
  return { containers: odd, by: otherImage, isCertain: own !== null };
}

/**
 * Finds containers of a service with the same number. One of them was probably left behind by a failed run of another
 * updater.
 */
function findDuplicateNumbers(
  service: string,
  all: readonly ListedContainer[],
  { project }: KnownInstance,
): UnrelatedContainers | null {
  const numbered = Map.groupBy(all, containerNumberOf);
  const same = [...numbered].find(([number, each]) => number > 0 && each.length > 1)?.[1];
  if (same === undefined) return null;
  const plain = (name: string) => name.replaceAll('_', '-');
  const isUsual = (each: ListedContainer) =>
    plain(each.name) === plain(`${project}-${service}-${containerNumberOf(each)}`);
  // Keep the only running container, whatever its name; otherwise the only container with the usual name.
  const only = [same.filter(isUp), same.filter(isUsual)].find((each) => each.length === 1);
  const removed = same.filter((each) => !only?.includes(each));
  return {
    message: `containers ${namesOf(same)} of service ${service} in project ${project} have the same number; another updater has probably left ${only ? removed.map(({ name }) => name).join(' and ') : 'one of them'} behind`,
    advice: only
      ? `Make sure that ${only[0]?.name} is the container to keep. To remove the other, run ${removalCommandOf(removed)}. Then run {command} again.`
      : 'Remove all but one of them with docker rm -f, then run {command} again.',
  };
}

const namesOf = (containers: readonly ListedContainer[]): string =>
  containers.map(({ id, name }) => `${name} (${id.slice(0, 12)})`).join(', ');
const removalCommandOf = (containers: readonly ListedContainer[]): string =>
  `docker rm -f ${containers.map(({ name }) => name).join(' ')}`;

function describeUnrelated(
  { containers, by }: OriginMismatch,
  service: string,
  { project }: KnownInstance,
): UnrelatedContainers {
  const isOne = containers.length === 1;
  const labelled = `with the labels of service ${service} of project ${project}`;
  return {
    message: isOne
      ? `container ${namesOf(containers)} ${labelled} was started ${by.foreign}`
      : `containers ${namesOf(containers)} ${labelled} were started ${by.foreign}`,
    advice: `Find out who started ${isOne ? 'this container' : 'these containers'}. To remove ${isOne ? 'it' : 'them'}, run ${removalCommandOf(containers)}. ${recreationAdviceOf(service)}`,
  };
}

function describeMismatch(
  { containers: all, by }: OriginMismatch,
  service: string,
  { project }: KnownInstance,
  containers: readonly ListedContainer[],
): UnrelatedContainers {
  const keyOf = by === otherImage ? (each: ListedContainer) => repositoryOf(each) ?? '' : composeOriginOf;
  // A majority proves nothing, because anyone can start containers. It only decides which containers the suggested
  // command removes.
  const votes = Map.groupBy(containers, keyOf);
  const likely = all
    .map(keyOf)
    .toSorted((a, b) => (votes.get(b)?.length ?? 0) - (votes.get(a)?.length ?? 0))[0];
  const others = all.filter((each) => keyOf(each) !== likely);
  return {
    message: `containers ${namesOf(all)} all have the labels of service ${service} of project ${project}, but ${by.all}`,
    advice: `Find out who started them. To remove those that do not belong to this instance, run ${removalCommandOf(others)}. ${recreationAdviceOf(service)}`,
  };
}

const recreationAdviceOf = (service: string): string =>
  `If all of them belong to this instance, recreate them from its files with {compose} up -d --no-deps --force-recreate ${service}. Then run {command} again.`;

/**
 * Returns the containers of a directory that share the most common compose and env files; all containers if none
 * belongs to the directory.
 */
export function findLargestComposeLabelGroup<C extends Pick<Container, 'labels'>>(
  containers: readonly C[],
  directory: string,
): C[] {
  const here = containers.filter(({ labels }) => labels[composeLabels.directory] === directory);
  const groups = [...Map.groupBy(here, composeOriginOf).values()];
  return groups.toSorted((a, b) => b.length - a.length)[0] ?? [...containers];
}
