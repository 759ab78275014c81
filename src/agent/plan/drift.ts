import type { Model, ModelService } from '../../engine/cli/compose.ts';
import type { Container } from '../../engine/container.ts';

/**
 * What recreating a container from today's files would take from it: mounts, ports, networks and environment keys that
 * it has now and that compose's model, with today's pin, no longer gives it. Names only, never a value. Additions are
 * no drift: they lose nothing.
 */
export function findDrift(
  name: string,
  container: Container,
  model: Model,
  imageEnv: ReadonlyMap<string, string>,
): string[] {
  const service = model.services[name];
  if (!service) return [`service ${name} is gone from the compose files`];
  return [
    ...mountDrift(container, service, model),
    ...portDrift(container, service),
    ...networkDrift(container, service, model),
    ...environmentDrift(container, service, imageEnv),
  ].map((what) => `${name}: ${what}`);
}

function mountDrift(container: Container, service: ModelService, model: Model): string[] {
  const planned = new Map<string, string>();
  for (const { type, source, target } of service.volumes ?? []) {
    if (source === undefined) continue;
    planned.set(target, type === 'volume' ? (model.volumes?.[source]?.name ?? source) : source);
  }
  for (const [kind, list, root] of [
    ['configs', service.configs, '/'],
    ['secrets', service.secrets, '/run/secrets/'],
  ] as const) {
    for (const { source, target = source } of list ?? []) {
      const file = model[kind]?.[source]?.file;
      if (file) planned.set(target.startsWith('/') ? target : `${root}${target}`, file);
    }
  }
  return container.requestedMounts.flatMap(({ source, destination, type }) => {
    // Compose writes a dollar in its model as two.
    const next = planned.get(destination)?.replaceAll('$$', () => '$');
    if (next === source || type === 'tmpfs') return [];
    return next === undefined
      ? [`the mount of ${source} at ${destination} would be dropped`]
      : [`the mount at ${destination} would move from ${source} to ${next}`];
  });
}

function portDrift(container: Container, service: ModelService): string[] {
  const planned = service.ports ?? [];
  return container.ports
    .filter(({ target, hostIp, hostPort }) => {
      const [port, protocol] = target.split('/');
      return !planned.some(
        (candidate) =>
          String(candidate.target) === port &&
          (candidate.protocol ?? 'tcp') === protocol &&
          sameAddress(candidate.host_ip ?? '', hostIp) &&
          publishes(candidate.published ?? '', hostPort),
      );
    })
    .map(
      ({ target, hostIp, hostPort }) =>
        `published port ${hostIp ? `${hostIp}:` : ''}${hostPort}:${target} would be dropped`,
    );
}

const anyAddress = new Set(['', '0.0.0.0', '::']);
const sameAddress = (a: string, b: string) => a === b || (anyAddress.has(a) && anyAddress.has(b));

/** Compose takes one port out of a published range. */
function publishes(published: string, hostPort: string): boolean {
  const [from = '', to] = published.split('-');
  if (to !== undefined) return Number(hostPort) >= Number(from) && Number(hostPort) <= Number(to);
  return published === hostPort || ((from === '' || from === '0') && (hostPort === '' || hostPort === '0'));
}

function networkDrift(container: Container, service: ModelService, model: Model): string[] {
  const shared = /^(service|container):/;
  if (service.network_mode) {
    const same = shared.test(service.network_mode)
      ? container.networkMode.startsWith('container:')
      : container.networkMode === service.network_mode;
    return same
      ? []
      : [`network mode would change from ${container.networkMode.slice(0, 40)} to ${service.network_mode}`];
  }
  if (container.networkMode.startsWith('container:') || container.networkMode === 'host') {
    return [`network mode ${container.networkMode.slice(0, 40)} would be dropped`];
  }
  const planned = new Set(
    Object.keys(service.networks ?? { default: null }).map((key) => model.networks?.[key]?.name ?? key),
  );
  return container.networks
    .filter((network) => !planned.has(network))
    .map((network) => `network ${network} would be dropped`);
}

function environmentDrift(
  container: Container,
  service: ModelService,
  imageEnv: ReadonlyMap<string, string>,
): string[] {
  const planned = service.environment ?? {};
  return [...container.env].flatMap(([key, value]) => {
    if (value === '' || imageEnv.get(key) === value) return [];
    if (!(key in planned)) return [`environment variable ${key} would be dropped`];
    return planned[key] ? [] : [`environment variable ${key} would be emptied`];
  });
}
