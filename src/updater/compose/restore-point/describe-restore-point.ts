import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import type {
  DowntimeEstimate,
  DurationEstimate,
  RestorePointEstimate,
} from '../../data/copies/estimate-restore-point.ts';
import { isServiceContainer } from '../../data/selection/choose-mounts.ts';
import { formatSize, joinWithAnd } from '../../run/log/format-values.ts';

interface UsageContext {
  model: ComposeModel;
  /** All containers of the project, and all running containers on the engine. */
  containers: readonly Container[];
  updated: readonly string[];
  /** ID of the image that the updater and its helper containers run. */
  helperImageId: string;
}

/**
 * Returns running containers that use the services but are not updated, such as `report-1 (db)`. A container of the
 * project uses the services that it depends on. Any other container counts as using services with which it shares a
 * network.
 */
export function findDependentContainers(
  services: readonly string[],
  { model, containers, updated, helperImageId: toolsImage }: UsageContext,
): string[] {
  const isOwn = (each: Container) => isServiceContainer(each, model.name);
  const networks = new Map(
    services.map((service) => [
      service,
      containers.flatMap((each) => (isOwn(each) && serviceOf(each) === service ? each.networks : [])),
    ]),
  );
  const isCommon = (name: string, service: string) =>
    !['bridge', 'host', 'none'].includes(name) && networks.get(service)?.includes(name);
  return containers
    .filter((each) => isUp(each) && each.imageId !== toolsImage)
    .filter((each) => !isOwn(each) || ![...updated, ...services].includes(serviceOf(each)))
    .flatMap((each) => {
      const { depends_on } = model.services[serviceOf(each)] ?? {};
      const used = services.filter((service) =>
        isOwn(each)
          ? Object.hasOwn(depends_on ?? {}, service)
          : each.networks.some((name) => isCommon(name, service)),
      );
      return used.length > 0 ? [`${each.name} (${used.join(', ')})`] : [];
    });
}

/**
 * Returns the log lines about the restore point, for both `plan` and `update`.
 * @param users - the result of `findDependentContainers`
 * @param name - the name of the product
 */
export function describeRestorePoint(
  { point, downtime, outside, notSaved, needed, free }: RestorePointEstimate,
  users: readonly string[],
  name: string,
): string[] {
  const { mounts, services, inMemory, excluded, directory } = point;
  const saved = mounts.map(({ where, bytes, excluded }) => {
    const without = excluded.map((path) => JSON.stringify(path)).join(', ');
    return `${where} (${formatSize(bytes)}${without && `, without ${without}`})`;
  });
  const left = [...excluded, ...outside.map((host) => `the database on ${host}`)];
  const listed = (names: readonly string[], sentence: string, after = '') =>
    names.length > 0 ? [`${sentence}: ${joinWithAnd(names)}${after}`] : [];
  const unavailable = `${[name, ...services].join(', ')} will be unavailable for ${formatDowntimeEstimate(downtime)} while the data is saved; after that, ${name} stays unavailable until the new version is ready`;
  return [
    `the restore point will contain ${joinWithAnd(saved) || 'no data, because no covered service has a writable mount with data'}`,
    ...listed(left, 'excluded from the restore point and therefore not restored by a rollback'),
    ...(notSaved.length > 0 ? [`not in the restore point: ${notSaved.join(', ')}`] : []),
    ...listed(services, 'services that will be stopped while the data is saved, then started again'),
    ...listed(inMemory, 'services that keep data only in memory and are restarted after a rollback'),
    ...(mounts.length > 0 ? [unavailable] : []),
    `the restore point needs ${formatSize(needed)}; ${formatSize(free)} is free in ${directory}`,
    ...listed(
      users,
      'these running containers will not be updated and will lose their connection to the data services',
      '; a rollback discards everything that they write after the data is saved',
    ),
  ];
}

function formatDowntimeEstimate({ range: [least, most], stopping }: DowntimeEstimate): string {
  if (stopping === null) return `${formatDurationEstimate([least, most])} (as in the last update)`;
  const guess = formatDurationEstimate([least, most + stopping]);
  return `${guess} (a guess, with up to ${Math.ceil(stopping)} s for stopping containers)`;
}

/** Formats an estimate, such as `about 12 s`, `3 to 20 s`, `3 s to 4 min` or `2 to 15 min`. */
export function formatDurationEstimate([least, most]: DurationEstimate): string {
  const unitOf = (seconds: number) => (most > 180 && seconds >= 60 ? 'min' : 's');
  const [from, to] = [least, most].map((each) =>
    Math.max(Math.ceil(unitOf(each) === 'min' ? each / 60 : each), 1),
  );
  const unit = unitOf(most);
  if (unitOf(least) !== unit) return `${from} s to ${to} min`;
  return from === to ? `about ${to} ${unit}` : `${from} to ${to} ${unit}`;
}

/** A downtime longer than this, in seconds, causes a warning if `--max-downtime` is not set. */
const longDowntimeSeconds = 15 * 60;

/**
 * Returns a warning about a long downtime; empty if the downtime is short. The time for stopping is not counted.
 * @param limit - the value of `--max-downtime` in seconds; null if it is not set
 * @param name - the name of the product
 * @throws UpdateError data-unsupported if even the shortest estimate exceeds the limit
 */
export function checkDowntimeEstimate(
  { point, downtime: { range } }: Pick<RestorePointEstimate, 'point' | 'downtime'>,
  limit: number | null,
  name: string,
): string[] {
  const [least, most] = range;
  if (point.mounts.length === 0 || most <= (limit ?? longDowntimeSeconds)) return [];
  const sentence = `${name} is expected to be unavailable for ${formatDurationEstimate(range)} while the data is saved`;
  if (limit === null) return [`${sentence}; use --max-downtime to set a limit`];
  const message = `${sentence}, but --max-downtime allows ${limit} s`;
  if (least <= limit) return [message];
  const advice =
    'Exclude data that does not need to be restored, or allow a longer downtime, then run {command} again.';
  throw new UpdateError('data-unsupported', message, { advice });
}
