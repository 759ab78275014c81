// Data that a service's new container would lack (docs/contract.md 4.12). Compose reuses anonymous volumes only at
// paths that the files mount or the new image declares. A path in the image must be spelled identically.

import { join, relative } from 'node:path';
import { stringify } from 'yaml';
import { isWithin } from '../../../core/mounts/host-paths.ts';
import type { ComposeModel, ComposeMount } from '../../../engine/cli/compose.ts';
import { normalizeContainerPath } from '../../../engine/containers/container-snapshot.ts';
import {
  type Container,
  type Image,
  type StorageMount,
  serviceOf,
} from '../../../engine/objects/container.ts';
import { toObject } from '../../../engine/objects/json.ts';
import { isSavableMount } from '../../data/selection/choose-mounts.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { composeAndEnvPathsOf } from '../inspect/installation.ts';
import type { PreparedPlan } from './prepared-plan.ts';

export interface UnmountedData {
  container: Container;
  mount: StorageMount;
  /** Whether the new container would lack this volume. */
  isDetached: boolean;
  /** Paths of new volumes that would replace this volume or hide its data. */
  newPaths: readonly string[];
}

/**
 * Finds data that a service would lose in a new container of this image. Anonymous volumes may turn out to be empty.
 */
export function findUnmountedData(plan: PreparedPlan, service: string, image: Image): UnmountedData[] {
  const { containers, outsideContainers: outside, imagesInUse, project } = plan.installation;
  const { volumes, volumes_from, tmpfs } = plan.model.services[service] ?? {};
  const from = (volumes_from ?? []).map((entry) => entry.replace(/:r[ow]$/, ''));
  const providers = [
    ...containers.filter((each) => from.includes(serviceOf(each))),
    ...[...containers, ...outside].filter(({ name }) => from.includes(`container:${name}`)),
  ];
  const provided = providers.flatMap(({ mounts }) => mounts.map(({ destination }) => destination));
  const mounted = new Map(
    volumes?.map(({ target, source = '' }) => [normalizeContainerPath(target), source]),
  );
  const inMemory = [tmpfs ?? []].flat().map((entry) => normalizeContainerPath(entry.replace(/:.*/s, '')));
  const named = [...mounted.values()].map((source) => plan.model.volumes?.[source]?.name);
  const declared = declaredPaths(image);
  return containers.flatMap((container) => {
    if (serviceOf(container) !== service) return [];
    const data = container.storage.filter((mount) => isSavableMount(mount, composeAndEnvPathsOf(project)));
    const known = [
      ...[...mounted.keys(), ...inMemory, ...provided],
      ...declaredPaths(imagesInUse.get(container.imageId)).map(normalizeContainerPath),
      ...data.filter(isAnonymousVolume).map(({ destination }) => destination),
    ];
    const added = declared.map(normalizeContainerPath).filter((path) => !known.includes(path));
    return data.flatMap((mount): UnmountedData[] => {
      const { source, destination: path } = mount;
      const inFile = mounted.get(path);
      const isAttached = inFile === undefined ? [...declared, ...provided].includes(path) : inFile === '';
      const isDetached = isAnonymousVolume(mount) && !named.includes(source) && !isAttached;
      const near = added.filter(
        (each) => isWithin(each, path) || (isWithin(path, each) && !declared.includes(path)),
      );
      const newPaths = isDetached && near.length === 0 ? added : near;
      return isDetached || newPaths.length > 0 ? [{ container, mount, isDetached, newPaths }] : [];
    });
  });
}

export const isAnonymousVolume = ({ type, source }: StorageMount): boolean =>
  type === 'volume' && /^[0-9a-f]{64}$/.test(source);

const declaredPaths = (image: Image | undefined): string[] => Object.keys(toObject(image?.config?.Volumes));

export function describeUnmountedData(left: UnmountedData, reference: string): string {
  const { type, source, path, destination } = left.mount;
  const named = type === 'bind' ? JSON.stringify(path) : `volume ${source}`;
  const changes = left.isDetached ? ['would not have this volume'] : [];
  if (left.newPaths.length > 0) changes.push(`would have a new volume at ${joinWithAnd(left.newPaths)}`);
  return `${serviceOf(left.container)} has data at ${destination} (${isAnonymousVolume(left.mount) ? 'an unnamed volume' : named}), but a container of ${reference} ${joinWithAnd(changes)}`;
}

/**
 * Returns lines for a compose file that mount the data at its old path and at each new path.
 * @param existing - the new paths that exist in the old container, such as `app:/data/files`. If such a path is below
 * the old path, it is a part of the data, and only this part is mounted there.
 */
export function formatMountLines(
  left: readonly UnmountedData[],
  existing: ReadonlySet<string>,
  model: ComposeModel,
): string[] {
  const services = new Map<string, { volumes: ComposeMount[] }>();
  let volumes: ComposeModel['volumes'];
  for (const { container, mount, isDetached, newPaths } of left) {
    const service = serviceOf(container);
    const { type, path, subpath, destination, source: name } = mount;
    const key = Object.entries(model.volumes ?? {}).find(([, volume]) => volume?.name === name)?.[0];
    const source = key ?? `${service}-${name.slice(0, 12)}`;
    if (type === 'volume' && key === undefined) volumes = { ...volumes, [source]: { external: true, name } };
    const mounts = services.get(service)?.volumes ?? [];
    services.set(service, { volumes: mounts });
    for (const target of isDetached ? [destination, ...newPaths] : newPaths) {
      if (mounts.some((each) => each.target === target)) continue;
      const isPart = existing.has(`${service}:${target}`) && isWithin(target, destination);
      const part = join(subpath, isPart ? relative(destination, target) : '');
      if (type === 'bind') mounts.push({ type, source: join(path, part), target });
      else mounts.push({ type, source, target, ...(part !== '.' && { volume: { subpath: part } }) });
    }
  }
  return stringify({ services, volumes }).trimEnd().replaceAll('$', '$$$$').split('\n');
}
