import { hasSameImage } from '../../../engine/comparison/same-image.ts';
import {
  type ContainerSnapshot,
  normalizeContainerPath,
} from '../../../engine/containers/container-snapshot.ts';
import { type Container, isUp } from '../../../engine/objects/container.ts';
import type { Json } from '../../../engine/objects/json.ts';
import type { ContainerRecord } from '../../run/state/rollout.ts';

/**
 * Describes how a restored container differs from its previous state (docs/contract.md 5.16). Each string describes one
 * difference.
 * @param snapshot - container snapshot from before the update, if the journal has it
 */
export function findContainerDifferences(
  record: ContainerRecord,
  snapshot: ContainerSnapshot | undefined,
  now: Container | undefined,
): string[] {
  const { name } = record;
  if (now === undefined) return [`${name} no longer exists`];
  const losses: string[] = [];
  if (!hasSameImage(now, record)) losses.push(`${name} is running a different image`);
  for (const network of Object.keys(snapshot?.networks ?? {})) {
    if (!now.networks.includes(network)) losses.push(`${name} is not connected to network ${network}`);
  }
  for (const { source, target } of listMountsWithSource(snapshot?.hostConfig ?? {})) {
    if (!hasMount(now, source, target)) losses.push(`${name} does not have ${source} mounted at ${target}`);
  }
  if (record.runs && !isUp(now)) losses.push(`${name} is ${now.status}`);
  if (!record.runs && isUp(now)) losses.push(`${name} is running, but was not running before the update`);
  if (record.well && now.health === 'unhealthy') losses.push(`${name} is unhealthy`);
  if (now.status === 'running') {
    for (const port of snapshot?.published ?? []) {
      if (!now.published.includes(port)) losses.push(`${name} does not publish port ${port}`);
    }
  }
  return losses;
}

/** Returns the requested mounts that have a source: binds and named volumes. */
function listMountsWithSource({ Binds, Mounts }: Json): { source: string; target: string }[] {
  const binds = ((Binds ?? []) as string[]).map((bind) => bind.split(':'));
  return [
    ...binds.map(([source = '', target = '']) => ({ source, target })),
    ...((Mounts ?? []) as Json[]).map(({ Source, Target }) => ({
      source: String(Source ?? ''),
      target: String(Target ?? ''),
    })),
  ].filter(({ source, target }) => source !== '' && target !== '');
}

/** A bind is identified by the requested path, a volume by its name. */
const hasMount = ({ mounts, requestedMounts }: Container, source: string, target: string): boolean =>
  [...mounts, ...requestedMounts].some(
    (mount) =>
      mount.source === source && normalizeContainerPath(mount.destination) === normalizeContainerPath(target),
  );
