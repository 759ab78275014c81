import { findUsablePin, isSamePin } from '../../../core/compose/pins/find-pin.ts';
import { displayPathOf } from '../../../core/compose/project-files.ts';
import type { TextFile } from '../../../core/files/text-file.ts';
import { type Container, isUp, type StorageMount } from '../../../engine/objects/container.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { type Installation, replacedServicesOf, unreplacedContainersOf } from '../inspect/installation.ts';
import { listFilesToWrite } from './files/list-files-to-write.ts';
import type { ProjectUpdatePlan } from './prepared-plan.ts';

/**
 * Warns about running containers that are not updated, but share a namespace, data or an edited file with updated ones.
 */
export function findAffectedContainerWarnings(plan: ProjectUpdatePlan): string[] {
  const { installation } = plan;
  const { files, outsideContainers: outside } = installation;
  const updated = replacedServicesOf(installation).flatMap(({ containers }) => containers);
  const written = listFilesToWrite(plan);
  const ofContainers = listContainersNotUpdated(installation).flatMap((each) => {
    const { name, networkMode, pidMode, ipcMode, storage } = each;
    const joins = (mode: string) => updated.find(({ id }) => mode === `container:${id}`);
    const provider = joins(pidMode) ?? joins(networkMode) ?? joins(ipcMode);
    const killed = joins(pidMode) ? ' and is killed when that container stops' : '';
    const writes = (own: StorageMount) =>
      isData(own) && storage.some((mount) => isData(mount) && placeOf(mount) === placeOf(own));
    const writer = outside.includes(each) && updated.find((own) => own.storage.some(writes));
    const read = written.filter((file) => storage.some(({ type, path }) => type === 'bind' && path === file));
    return [
      ...(provider
        ? [`${name} uses a namespace of ${provider.name}${killed}; recreate ${name} after the update`]
        : []),
      ...(writer
        ? [`${name} can write to the data of ${writer.name}; check whether ${name} supports the new version`]
        : []),
      ...read.map(
        (file) =>
          `${name} has mounted the file ${displayPathOf(files, file)} directly, so it will read the old content until you run docker restart ${name}`,
      ),
    ];
  });
  return [...ofContainers, ...findOtherFilesWarnings(plan)];
}

/** Warns if the next `docker compose up` uses other files than the update, such as a new override file. */
function findOtherFilesWarnings({ installation, updates }: ProjectUpdatePlan): string[] {
  const { files, nextFiles } = installation;
  if (nextFiles.length === 0) return [];
  const names = (list: readonly TextFile[]) =>
    joinWithAnd(list.map(({ path }) => displayPathOf(files, path)));
  const next = { ...files, composeFiles: nextFiles };
  const images = updates.flatMap(({ service, pin }) => {
    const found = findUsablePin(next, service);
    const isOther = found !== null && !isSamePin(found, pin);
    return isOther
      ? `; it will start ${service} with ${found.referenceText} (${found.location.description})`
      : [];
  });
  return [
    `the update uses ${names(files.composeFiles)}, like the last docker compose up. Without -f, the next docker compose up will use ${names(nextFiles)}${images.join('')}`,
  ];
}

/**
 * Finds addresses of updated containers that a reverse proxy may cache. A container counts as a reverse proxy if it is
 * not updated, publishes a web port, and shares a network with an updated container.
 */
export function findProxiedContainers(installation: Installation) {
  const isWeb = (port: string) => /^(?:80|443|8080|8443)\//.test(port);
  const published = listContainersNotUpdated(installation).filter((each) => each.published.some(isWeb));
  return replacedServicesOf(installation).flatMap(({ containers }) =>
    containers.flatMap(({ name, ips, networks }) => {
      const shares = (network: string) => network !== 'bridge' && networks.includes(network);
      const proxies = published.filter((each) => each.networks.some(shares)).map((each) => each.name);
      return ips.length > 0 && proxies.length > 0 ? [{ name, ips, proxies }] : [];
    }),
  );
}

/** Returns all running containers on the engine that are not updated. */
function listContainersNotUpdated(installation: Installation): Container[] {
  return [...unreplacedContainersOf(installation).filter(isUp), ...installation.outsideContainers];
}

const placeOf = ({ path, subpath }: StorageMount): string => `${path}/${subpath}`;

/** Whether a mount contains data. Sockets and system paths do not count, because many containers share them. */
const isData = ({ type, path, writable }: StorageMount): boolean =>
  writable &&
  (type === 'volume' ||
    (type === 'bind' && !/\.sock$|^\/(?:dev|etc|lib|proc|run|sys|usr|var\/run)(?:\/|$)/.test(path)));
