import { namespaceModeKeys } from '../../../engine/objects/container.ts';
import { isUnsetValue, type Json, toList, toObject } from '../../../engine/objects/json.ts';
import { isSharedNamespace } from './find-differences.ts';

/** Placeholder name of a removed container whose namespace or volumes a definition still refers to. */
export const removedContainerName = 'container:gone';

/** Sources of the engine's default values for settings that a definition omits. */
export interface EngineDefaults {
  /** `HostConfig` of the updater's own container, which sets few values. The others are the engine's defaults. */
  ownHostConfig: Json;
  /** Response to `GET /info`: the default drivers, and the limits that the kernel supports. Empty if not reported. */
  engineInfo: Json;
  isPodman: boolean;
}

/**
 * For each limit, the field of `GET /info` that reports whether the kernel supports it; null if there is no such field.
 * The engine drops unsupported limits with a warning.
 */
const limitSupportFields: Readonly<Record<string, string | null>> = {
  ...{ Memory: 'MemoryLimit', MemorySwap: 'SwapLimit', MemoryReservation: 'MemoryLimit' },
  ...{ OomKillDisable: 'OomKillDisable', PidsLimit: 'PidsLimit', NanoCpus: 'CpuCfsQuota' },
  ...{ CpuQuota: 'CpuCfsQuota', CpuPeriod: 'CpuCfsPeriod', CpuShares: 'CPUShares', CpusetCpus: 'CPUSet' },
  ...{ MemorySwappiness: null, CpuRealtimePeriod: null, CpuRealtimeRuntime: null, BlkioWeight: null },
};

/** Adds the engine's defaults to a `HostConfig`. Unknown defaults are taken from the running container. */
export function applyEngineDefaults(
  sent: Json,
  running: Json,
  { ownHostConfig: own, engineInfo: info, isPodman }: EngineDefaults,
): Json {
  const filled = { ...sent };
  const asItIs = (key: string) => {
    filled[key] = running[key];
  };
  const orAsItIs = (key: string, value: unknown) => {
    if (isUnsetValue(sent[key])) filled[key] = isUnsetValue(value) ? running[key] : value;
  };
  const isUnified = info.CgroupVersion !== '1';
  // Podman does not report a container's runtime, so runtimes are not compared.
  if (!isPodman) orAsItIs('Runtime', info.DefaultRuntime);
  orAsItIs('CgroupnsMode', sent.Privileged === true && !isUnified ? 'host' : own.CgroupnsMode);
  orAsItIs('ShmSize', own.ShmSize);
  if (isPodman) orAsItIs('PidsLimit', own.PidsLimit);
  if (isOwnIpc(running.IpcMode)) orAsItIs('IpcMode', isOwnIpc(own.IpcMode) ? own.IpcMode : null);

  for (const [key, fact] of Object.entries(limitSupportFields)) {
    const isKnown = fact !== null && info[fact] === true;
    if (!isKnown && (isUnsetValue(running[key]) || running[key] === -1)) asItIs(key);
  }
  // Without a swap limit, the engine limits memory plus swap to twice the memory limit.
  if (isUnsetValue(sent.MemorySwap) && running.MemorySwap !== -1) {
    const isChosen = Number(running.MemorySwap ?? 0) === 2 * Number(running.Memory ?? 0);
    filled.MemorySwap = isChosen ? running.MemorySwap : 2 * Number(filled.Memory ?? 0);
  }

  filled.LogConfig = buildLogConfig(toObject(sent.LogConfig), toObject(running.LogConfig), {
    ownHostConfig: own,
    engineInfo: info,
  });
  const named = new Set(toList<Json>(sent.Ulimits).map(({ Name }) => Name));
  filled.Ulimits = [
    ...toList(sent.Ulimits),
    ...findCommonLimits(toList(running.Ulimits), toList(own.Ulimits)).filter(({ Name }) => !named.has(Name)),
  ];
  filled.SecurityOpt = [...toList(sent.SecurityOpt), ...listEngineLabels(sent, running)];

  // If the owner of a shared namespace was removed, its service is unknown, so the references cannot be compared.
  for (const key of namespaceModeKeys) {
    if (isSharedNamespace(sent[key]) && isGone(running[key])) asItIs(key);
  }
  const [from, fromNow] = [toList(sent.VolumesFrom), toList(running.VolumesFrom)];
  if (from.length === fromNow.length && fromNow.some(isGone)) asItIs('VolumesFrom');
  // Mounts from `VolumesFrom` are not in the new `Mounts`, so they are copied from the running container.
  if (from.length > 0) {
    const targets = new Set(toList<Json>(sent.Mounts).map(({ Target }) => Target));
    const brought = toList<Json>(running.Mounts).filter(({ Target }) => !targets.has(Target));
    filled.Mounts = [...toList(sent.Mounts), ...brought];
  }
  return filled;
}

const isOwnIpc = (mode: unknown): boolean => /^(private|shareable)$/.test(String(mode));
const isGone = (container: unknown): boolean => String(container).startsWith(removedContainerName);

function findCommonLimits(some: readonly unknown[], others: readonly unknown[]): Json[] {
  const text = ({ Name, Soft, Hard }: Json) => `${Name} ${Soft} ${Hard}`;
  const known = new Set((others as Json[]).map(text));
  return (some as Json[]).filter((each) => known.has(text(each)));
}

/** Returns the log configuration. For its default driver, the engine adds options even if the driver is specified. */
function buildLogConfig(
  sent: Json,
  running: Json,
  { ownHostConfig: own, engineInfo: info }: Omit<EngineDefaults, 'isPodman'>,
): Json {
  const Type = isUnsetValue(sent.Type) ? info.LoggingDriver || running.Type : sent.Type;
  const ownLog = toObject(own.LogConfig);
  const isOfEngine = !info.LoggingDriver || Type === info.LoggingDriver;
  if (!isOfEngine || Type !== running.Type) return { Type, Config: toObject(sent.Config) };
  const options = toObject(ownLog.Config);
  const chosen = Object.entries(toObject(running.Config)).filter(
    ([key, value]) => ownLog.Type !== Type || options[key] === value,
  );
  return { Type, Config: { ...Object.fromEntries(chosen), ...toObject(sent.Config) } };
}

/** Returns the SELinux labels that the engine adds to privileged or namespace-sharing containers. */
function listEngineLabels(sent: Json, running: Json): unknown[] {
  const isLabel = (option: unknown) => /^label[=:]/.test(String(option));
  const hasMore = [sent, running].some(
    ({ Privileged, PidMode, IpcMode }) =>
      Privileged === true || [PidMode, IpcMode].some((mode) => mode === 'host' || isSharedNamespace(mode)),
  );
  if (toList(sent.SecurityOpt).some(isLabel) || !hasMore) return [];
  return toList(running.SecurityOpt).filter(isLabel);
}
