// Converts Podman's values in inspections to Docker's values, so that other modules need to know only the latter.
// Values that the owner has requested are not changed.

import { constants } from 'node:os';
import { isUnsetValue, type Json, toList, toObject, toStrings } from './json.ts';

/** Checks whether a response to `/version` is from Podman. */
export const isPodman = ({ Components }: Record<string, unknown>): boolean =>
  String(toObject(toList(Components)[0]).Name).startsWith('Podman');

/** Converts Podman's response to `GET /containers/<id>/json` to Docker's values. */
export function toDockerInspection(raw: Json): Json {
  const [config, host] = [toObject(raw.Config), toObject(raw.HostConfig)];
  const networks = Object.keys(toObject(toObject(raw.NetworkSettings).Networks));
  const unless = (value: unknown, own: string) => (value === own ? '' : value);
  return {
    ...raw,
    Config: {
      ...config,
      StopSignal: signalName(config.StopSignal),
      // Podman 4.3 reports 0 if no timeout was requested.
      StopTimeout: config.StopTimeout || undefined,
    },
    HostConfig: {
      ...host,
      // Podman reports `bridge` even for a container on user-defined networks.
      NetworkMode:
        host.NetworkMode === 'bridge' && networks[0] && !networks.includes(ownNetwork)
          ? networks[0]
          : host.NetworkMode,
      PidMode: unless(host.PidMode, 'private'),
      UTSMode: unless(host.UTSMode, 'private'),
      Runtime: unless(host.Runtime, 'oci'),
      Binds: host.Binds && toStrings(host.Binds).map(removeDefaultOptions),
      Ulimits: toList<Json>(host.Ulimits).map((limit) => ({ ...limit, Name: limitName(limit.Name) })),
      Annotations: Object.fromEntries(
        Object.entries(toObject(host.Annotations)).filter(([key]) => !ownAnnotation.test(key)),
      ),
    },
  };
}

/** Podman's default network for containers. */
const ownNetwork = 'podman';

const ownAnnotation =
  /^io\.(container\.manager$|podman\.)|^org\.opencontainers\.image\.stopSignal$|^org\.systemd\.property\./;

const signals = new Map(Object.entries(constants.signals).map(([name, number]) => [String(number), name]));
const signalName = (signal: unknown): unknown => signals.get(String(signal)) ?? signal;

const limitName = (name: unknown): string =>
  String(name)
    .replace(/^RLIMIT_/, '')
    .toLowerCase();

/** Options that Podman reports for every bind and every volume, even if they were not requested. */
const ownOptions = ['rbind', 'rprivate'];
const ofVolumes = [...ownOptions, 'nodev', 'nosuid', 'exec'];

function removeDefaultOptions(text: string): string {
  const [source = '', target, mode = ''] = text.split(':');
  if (target === undefined) return text;
  const own = source.startsWith('/') ? ownOptions : ofVolumes;
  const requested = mode.split(',').filter((option) => !own.includes(option));
  return [source, target, ...(requested.length > 0 ? [requested.join()] : [])].join(':');
}

/**
 * Adds Podman's defaults for values that a definition does not set.
 * @param planned - settings that compose would send, merged with the image's settings
 */
export function addPodmanDefaults(planned: Json, running: Json): Json {
  const keyOf = (entry: string) => entry.split('=', 1)[0];
  const given = new Set(toStrings(planned.Env).map(keyOf));
  const added = toStrings(running.Env).filter(
    (entry) => !given.has(keyOf(entry)) && isPodmanVariable(entry, running),
  );
  return {
    ...planned,
    Env: [...toStrings(planned.Env), ...added],
    Healthcheck: addHealthCheckDefaults(planned.Healthcheck),
    // Podman 4.3 reports a timeout only if it was requested.
    StopTimeout: planned.StopTimeout ?? (running.StopTimeout === 10 ? 10 : undefined),
  };
}

/**
 * Checks whether Podman added an environment variable. If the definition sets a user, HOME may have any value, because
 * Podman reads it from a file in the image.
 */
function isPodmanVariable(entry: string, { Hostname, User }: Json): boolean {
  if (/^HOME=(\/|\/root)?$/.test(entry)) return true;
  if (entry.startsWith('HOME=/')) return !isUnsetValue(User);
  return ['container=podman', 'TERM=xterm', `HOSTNAME=${Hostname}`].includes(entry);
}

const second = 1_000_000_000;

function addHealthCheckDefaults(healthcheck: unknown): unknown {
  if (isUnsetValue(healthcheck)) return healthcheck;
  const own = { Interval: 30 * second, Timeout: 30 * second, Retries: 3 };
  const given = Object.entries(toObject(healthcheck)).filter(([, value]) => !isUnsetValue(value));
  return { ...own, ...Object.fromEntries(given) };
}
