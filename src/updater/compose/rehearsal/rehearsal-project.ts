import { join } from 'node:path';
import type { ComposeModel, ComposeService } from '../../../engine/cli/compose.ts';
import { normalizeContainerPath } from '../../../engine/containers/container-snapshot.ts';
import type { Image } from '../../../engine/objects/container.ts';
import { isUnsetValue, type Json, toList, toObject, toStrings } from '../../../engine/objects/json.ts';
import { internalLabelPrefixes, rehearsalLabel } from '../../../engine/objects/labels.ts';

// Builds the compose project of a rehearsal from compose's model of the instance. Only the listed keys are copied. Ports,
// volumes, networks and host paths of the instance are not; container names become network aliases.

/** Keys that are copied unchanged, because they give no access to anything outside the container. */
const keptKeys = new Set(
  'cap_drop command domainname entrypoint env_file group_add healthcheck hostname init platform read_only shm_size stdin_open stop_grace_period stop_signal tmpfs tty user working_dir'.split(
    ' ',
  ),
);
/** Keys that are replaced or dropped: a service can start without them. */
const omittedKeys = new Set(
  'annotations attach blkio_config build cgroup_parent configs container_name cpu_count cpu_percent cpu_period cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset depends_on develop dns dns_opt dns_search environment expose external_links extra_hosts image label_file labels links logging mac_address mem_limit mem_reservation mem_swappiness memswap_limit networks oom_kill_disable oom_score_adj pids_limit ports pre_stop profiles pull_policy restart scale secrets storage_opt sysctls ulimits volumes'.split(
    ' ',
  ),
);
/** Capabilities that docker gives every container, without those for raw network access and for devices. */
export const allowedCapabilities: ReadonlySet<string> = new Set(
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT'.split(
    ' ',
  ),
);
/** The engine may add a prefix to a capability. */
export const normalizeCapability = (name: string): string => name.replace(/^CAP_/, '');
/** Ulimits that neither raise the priority of a process nor count processes of other containers. */
export const allowedUlimits: ReadonlySet<string> = new Set(['core', 'memlock', 'nofile', 'stack']);
/** Labels that make other programs on this machine ignore a container. */
const ignoringLabels = { 'traefik.enable': 'false', 'com.centurylinklabs.watchtower.enable': 'false' };
/** Variables by which a proxy with the engine's socket finds containers, such as nginx-proxy. */
export const proxyVariable = /^(?:VIRTUAL_|LETSENCRYPT_|HTTPS_METHOD$|CERT_NAME$|NETWORK_ACCESS$)/;
export const droppedCapabilities = ['MKNOD', 'NET_RAW'] as const;

const hasOnly = (value: unknown, test: (text: string) => boolean): boolean => toStrings(value).every(test);

/** Values of other keys that are harmless. Any other value cannot be rehearsed. */
const harmlessValues: Readonly<Record<string, (value: unknown) => boolean>> = {
  cap_add: (value) => hasOnly(value, (name) => allowedCapabilities.has(normalizeCapability(name))),
  cgroup: (value) => value === 'private',
  deploy: (value) => toList(toObject(toObject(toObject(value).resources).reservations).devices).length === 0,
  ipc: (value) => value === 'private' || value === 'shareable',
  network_mode: (value) => value === 'none' || value === 'bridge' || value === 'default',
  post_start: (value) => (toList(value) as Json[]).every(({ privileged }) => privileged !== true),
  runtime: (value) => value === 'runc',
  security_opt: (value) => hasOnly(value, (option) => /^no-new-privileges(?:[:=]true)?$/.test(option)),
};

/** Returns the keys that rule out a rehearsal, such as `app.privileged`. */
export function findUnsupportedKeys(model: ComposeModel, services: readonly string[]): string[] {
  return services.flatMap((service) => {
    const definition = Object.entries(model.services[service] ?? {});
    const keys = definition.filter(([key, value]) => {
      if (isUnsetValue(value) || key.startsWith('x-')) return false;
      const isHarmless = harmlessValues[key]?.(value);
      return isHarmless === undefined ? !keptKeys.has(key) && !omittedKeys.has(key) : !isHarmless;
    });
    const mounts = rehearsedMountsOf(model, service).filter(
      ({ type }) => !['bind', 'volume', 'tmpfs'].includes(type),
    );
    return [
      ...keys.map(([key]) => `${service}.${key}`),
      ...mounts.map(({ target }) => `${service}:${target}`),
    ];
  });
}

export interface RehearsedMount {
  type: string;
  /** Path on the host or name of the volume, as the engine knows it. */
  source: string;
  /** Directory inside the volume; empty for the whole volume. */
  subpath: string;
  target: string;
  isReadOnly: boolean;
}

/** Lists the mounts of a service, including its secrets and configs that are files. */
export function rehearsedMountsOf(model: ComposeModel, service: string): RehearsedMount[] {
  const { volumes, secrets, configs } = model.services[service] ?? {};
  const files = [
    ...fileMountsOf(model.secrets, secrets, '/run/secrets/'),
    ...fileMountsOf(model.configs, configs, '/'),
  ];
  const mounts = (volumes ?? []).map(({ type, source = '', target, read_only, volume }) => ({
    type,
    source: unescapeText(type === 'volume' ? (model.volumes?.[source]?.name ?? source) : source),
    subpath: unescapeText(volume?.subpath ?? ''),
    target: normalizeContainerPath(unescapeText(target)),
    isReadOnly: read_only === true,
  }));
  return [...mounts, ...files];
}

function fileMountsOf(
  definitions: ComposeModel['secrets'],
  used: ComposeService['secrets'],
  directory: string,
): RehearsedMount[] {
  return (used ?? []).flatMap(({ source, target = source }) => {
    const { file } = definitions?.[source] ?? {};
    const path = unescapeText(target);
    return file === undefined
      ? []
      : [
          {
            ...{ type: 'bind', source: unescapeText(file), subpath: '', isReadOnly: true },
            target: path.startsWith('/') ? path : `${directory}${path}`,
          },
        ];
  });
}

/** In a compose file, and in the model that compose prints, `$$` stands for `$`. */
const unescapeText = (text: string): string => text.replaceAll('$$', '$');
const escapeText = (text: string): string => text.replaceAll('$', '$$$$');

interface RehearsalProjectInput {
  name: string;
  token: string;
  model: ComposeModel;
  /** Services to start. */
  services: readonly string[];
  app: string;
  /** Services that must complete before the app starts. */
  migrations: readonly string[];
  /** Local images, keyed by service. */
  images: ReadonlyMap<string, Image>;
  /** Returns the host path of the copy; null for a mount that is empty in the rehearsal. */
  findCopy(service: string, mount: RehearsedMount): string | null;
  /** Returns the copies inside the source of a copy, with their paths in it. */
  listNestedCopies(copy: string): readonly { path: string; copy: string }[];
  /** Copies of volumes that only the image declares, keyed by service and path inside the container. */
  imageVolumeCopies: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Names of the running containers, keyed by service. */
  containerNames: ReadonlyMap<string, readonly string[]>;
  /** Limits of each container: memory in bytes, and processors. */
  limits: { memory: number; cpus: number };
}

/** Returns the compose file of a rehearsal, as JSON. */
export function buildRehearsalProject(input: RehearsalProjectInput): Json {
  const { name, token, model, services } = input;
  const labels = { [rehearsalLabel]: token };
  const networks = new Set(services.flatMap((service) => networksOf(model.services[service])));
  return {
    name,
    services: Object.fromEntries(services.map((service) => [service, buildService(input, service)])),
    networks: Object.fromEntries(
      [...networks].map((network) => [
        network,
        {
          labels,
          driver: 'bridge',
          ...{ internal: true, enable_ipv6: false },
          driver_opts: { 'com.docker.network.bridge.gateway_mode_ipv4': 'isolated' },
        },
      ]),
    ),
    ...{ secrets: listInlineDefinitions(model.secrets), configs: listInlineDefinitions(model.configs) },
  };
}

const networksOf = (service: ComposeService | undefined): string[] =>
  service?.network_mode === 'none' ? [] : Object.keys(service?.networks ?? { default: null });

type FileDefinitions = ComposeModel['secrets'];
const listInlineDefinitions = (definitions: FileDefinitions): Json =>
  Object.fromEntries(
    Object.entries(definitions ?? {}).flatMap(([key, each]) =>
      each?.content === undefined && each?.environment === undefined
        ? []
        : [
            [
              key,
              each.environment === undefined ? { content: each.content } : { environment: each.environment },
            ],
          ],
    ),
  );

function buildService(input: RehearsalProjectInput, service: string): Json {
  const { model, token, services, app, migrations, images, limits } = input;
  const own = (model.services[service] ?? {}) as ComposeService & Json;
  const image = images.get(service);
  const kept = Object.entries(own).filter(([key]) => keptKeys.has(key));
  const needed = Object.entries(own.depends_on ?? {}).flatMap(([name, each]) => {
    // In an update, a service on which the app depends is already healthy.
    const shouldAwaitHealth =
      each.condition === 'service_started' && hasHealthCheck(model.services[name], images.get(name));
    return services.includes(name)
      ? [[name, shouldAwaitHealth ? { ...each, condition: 'service_healthy' } : each]]
      : [];
  });
  const completed = service === app ? migrations.filter((each) => services.includes(each)) : [];
  const memory = [own.mem_limit, toObject(toObject(toObject(own.deploy).resources).limits).memory]
    .map(Number)
    .filter((bytes) => bytes > 0);
  return {
    ...Object.fromEntries(kept),
    environment: {
      ...own.environment,
      // Not null: compose would take the value from an env file of the project.
      ...Object.fromEntries(
        [...Object.keys(own.environment ?? {}), ...(image?.env.keys() ?? [])]
          .filter((name) => proxyVariable.test(name))
          .map((name) => [name, '']),
      ),
    },
    ulimits: Object.fromEntries(
      Object.entries(toObject(own.ulimits)).filter(([name]) => allowedUlimits.has(name)),
    ),
    image: image?.id,
    pull_policy: 'never',
    restart: 'no',
    depends_on: {
      ...Object.fromEntries(needed),
      ...Object.fromEntries(completed.map((name) => [name, { condition: 'service_completed_successfully' }])),
    },
    // Other programs on this machine, such as a proxy, act on labels.
    labels: {
      ...Object.fromEntries(ownLabelsOf(image).map((label) => [label, ''])),
      ...ignoringLabels,
      [rehearsalLabel]: token,
    },
    logging: { driver: 'json-file', options: { 'max-size': '10m' } },
    volumes: buildMounts(input, service),
    ...(own.network_mode === 'none'
      ? { network_mode: 'none' }
      : {
          networks: Object.fromEntries(
            networksOf(own).map((name) => [name, aliasesOf(input, service, name)]),
          ),
        }),
    secrets: (own.secrets ?? []).filter(({ source }) => !model.secrets?.[source]?.file),
    configs: (own.configs ?? []).filter(({ source }) => !model.configs?.[source]?.file),
    cap_add: toStrings(own.cap_add),
    cap_drop: [...new Set([...toStrings(own.cap_drop), ...droppedCapabilities])],
    security_opt: toStrings(own.security_opt),
    ...(own.post_start?.length && { post_start: own.post_start.map(toHook) }),
    ...{ cpus: limits.cpus, cpu_shares: 2, pids_limit: 4_096, oom_score_adj: 1_000 },
    ...{ mem_limit: Math.min(limits.memory, ...memory), memswap_limit: Math.min(limits.memory, ...memory) },
  };
}

function hasHealthCheck(service: ComposeService | undefined, image: Image | undefined): boolean {
  const { test, disable } = toObject((service as Json | undefined)?.healthcheck);
  const command = toStrings(test ?? toObject(image?.config?.Healthcheck).Test);
  return disable !== true && command.length > 0 && command[0] !== 'NONE';
}

function toHook({ command, ...more }: NonNullable<ComposeService['post_start']>[number]): Json {
  const { user, environment, working_dir } = more as Json;
  return { command, user: user || undefined, environment, working_dir };
}

const ownLabelsOf = (image: Image | undefined): string[] =>
  Object.keys(image?.labels ?? {}).filter(
    (label) => !internalLabelPrefixes.some((prefix) => label.startsWith(prefix)),
  );

/**
 * An empty mount is a new volume without a name: the engine fills it from the image, and removes it with the container.
 * The copy of a mount inside another mount is mounted there too, so that services still share its files.
 */
function buildMounts(
  { model, findCopy, listNestedCopies, imageVolumeCopies }: RehearsalProjectInput,
  service: string,
): Json[] {
  const mounts = rehearsedMountsOf(model, service);
  const { tmpfs } = (model.services[service] ?? {}) as ComposeService;
  const inMemory = [tmpfs ?? []].flat().map((entry) => unescapeText(entry.split(':', 1)[0] ?? ''));
  const targets = new Set([...mounts.map(({ target }) => target), ...inMemory.map(normalizeContainerPath)]);
  const toMounts = (copy: string, target: string, isReadOnly: boolean): Json[] => {
    // Below a read-only mount, the engine could not create a missing directory.
    const nested = isReadOnly
      ? []
      : listNestedCopies(copy).map((each) => ({ ...each, target: join(target, each.path) }));
    return [
      toBindMount(copy, target, isReadOnly),
      ...nested
        .filter((each) => !targets.has(each.target))
        .map((each) => toBindMount(each.copy, each.target, false)),
    ];
  };
  const ofImage = [...(imageVolumeCopies.get(service) ?? [])].filter(([target]) => !targets.has(target));
  return [
    ...mounts.flatMap((mount): Json[] => {
      const target = escapeText(mount.target);
      if (mount.type === 'tmpfs') return [{ type: 'tmpfs', target }];
      const copy = findCopy(service, mount);
      return copy === null ? [{ type: 'volume', target }] : toMounts(copy, mount.target, mount.isReadOnly);
    }),
    ...ofImage.flatMap(([target, copy]) => toMounts(copy, target, false)),
  ];
}

const toBindMount = (copy: string, target: string, isReadOnly: boolean): Json => ({
  ...{ type: 'bind', source: escapeText(copy), target: escapeText(target), read_only: isReadOnly },
  bind: { create_host_path: false },
});

/** A service keeps all names by which others may reach it: aliases, container name, host name, and names of links. */
function aliasesOf(
  { model, services, containerNames }: RehearsalProjectInput,
  service: string,
  network: string,
): Json {
  const { container_name, hostname, networks } = model.services[service] as ComposeService & Json;
  const linked = services.flatMap((each) =>
    toStrings((model.services[each] as ComposeService & Json).links).flatMap((link) => {
      const [target, alias] = link.split(':');
      return target === service && alias !== undefined ? [alias] : [];
    }),
  );
  const { aliases } = toObject(toObject(networks)[network]);
  const names = [
    ...toStrings(aliases),
    ...toStrings([container_name, hostname].filter(Boolean)),
    ...linked,
    ...(containerNames.get(service) ?? []),
  ];
  return { aliases: [...new Set(names)] };
}
