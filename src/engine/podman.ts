// Podman answers as Docker's engine does, in words of its own. What is read of its containers goes through here, so that
// the rest knows one engine. Only what Podman itself gives is put in other words: what an owner has asked for stays.

import { constants } from 'node:os';
import { isEmpty, type Json, list, object, strings } from './json.ts';

/** By the answer to `/version`. */
export const isPodman = ({ Components }: Record<string, unknown>): boolean =>
  String(object(list(Components)[0]).Name).startsWith('Podman');

/** The answer to `GET /containers/<id>/json`, in the words of Docker's engine. */
export function inDockersWords(raw: Json): Json {
  const [config, host] = [object(raw.Config), object(raw.HostConfig)];
  const networks = Object.keys(object(object(raw.NetworkSettings).Networks));
  const unless = (value: unknown, own: string) => (value === own ? '' : value);
  return {
    ...raw,
    Config: {
      ...config,
      StopSignal: signalName(config.StopSignal),
      // 4.3 tells 0 where none was asked for.
      StopTimeout: config.StopTimeout || undefined,
    },
    HostConfig: {
      ...host,
      // On networks of its own a container is on a `bridge`, too.
      NetworkMode:
        host.NetworkMode === 'bridge' && networks[0] && !networks.includes(ownNetwork)
          ? networks[0]
          : host.NetworkMode,
      PidMode: unless(host.PidMode, 'private'),
      UTSMode: unless(host.UTSMode, 'private'),
      Runtime: unless(host.Runtime, 'oci'),
      Binds: host.Binds && strings(host.Binds).map(bind),
      Ulimits: list<Json>(host.Ulimits).map((limit) => ({ ...limit, Name: limitName(limit.Name) })),
      Annotations: Object.fromEntries(
        Object.entries(object(host.Annotations)).filter(([key]) => !ownAnnotation.test(key)),
      ),
    },
  };
}

/** The network of a container that was given none. */
const ownNetwork = 'podman';

const ownAnnotation =
  /^io\.(container\.manager$|podman\.)|^org\.opencontainers\.image\.stopSignal$|^org\.systemd\.property\./;

const signals = new Map(Object.entries(constants.signals).map(([name, number]) => [String(number), name]));
const signalName = (signal: unknown): unknown => signals.get(String(signal)) ?? signal;

const limitName = (name: unknown): string =>
  String(name)
    .replace(/^RLIMIT_/, '')
    .toLowerCase();

/** What a bind or a volume has without being asked for. */
const ownOptions = ['rbind', 'rprivate'];
const ofVolumes = [...ownOptions, 'nodev', 'nosuid', 'exec'];

function bind(text: string): string {
  const [source = '', target, mode = ''] = text.split(':');
  if (target === undefined) return text;
  const own = source.startsWith('/') ? ownOptions : ofVolumes;
  const asked = mode.split(',').filter((option) => !own.includes(option));
  return [source, target, ...(asked.length > 0 ? [asked.join()] : [])].join(':');
}

/** What Podman adds to a definition that says nothing of it. @param planned what compose would send and the image gives */
export function withPodmansOwn(planned: Json, running: Json): Json {
  const keyOf = (entry: string) => entry.split('=', 1)[0];
  const given = new Set(strings(planned.Env).map(keyOf));
  const added = strings(running.Env).filter((entry) => !given.has(keyOf(entry)) && isOwn(entry, running));
  return {
    ...planned,
    Env: [...strings(planned.Env), ...added],
    Healthcheck: withOwnTimes(planned.Healthcheck),
    // 4.3 tells only one that was asked for.
    StopTimeout: planned.StopTimeout ?? (running.StopTimeout === 10 ? 10 : undefined),
  };
}

/** A user's home is in a file of the image, and is not asked for. */
function isOwn(entry: string, { Hostname, User }: Json): boolean {
  if (/^HOME=(\/|\/root)?$/.test(entry)) return true;
  if (entry.startsWith('HOME=/')) return !isEmpty(User);
  return ['container=podman', 'TERM=xterm', `HOSTNAME=${Hostname}`].includes(entry);
}

const second = 1_000_000_000;

function withOwnTimes(healthcheck: unknown): unknown {
  if (isEmpty(healthcheck)) return healthcheck;
  const own = { Interval: 30 * second, Timeout: 30 * second, Retries: 3 };
  const given = Object.entries(object(healthcheck)).filter(([, value]) => !isEmpty(value));
  return { ...own, ...Object.fromEntries(given) };
}
