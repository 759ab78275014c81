import { namespaceModes } from '../../../engine/container.ts';
import { isEmpty, type Json, list, object } from '../../../engine/json.ts';
import { isShared } from './shape.ts';

/** A container whose namespace or volumes another takes, and that is not there any more. */
export const goneContainer = 'container:gone';

/** What the engine gives where a definition says nothing. */
export interface EngineDefaults {
  /** The `HostConfig` of the updater's own container, which was told little: what else it has, it has from the engine. */
  own: Json;
  /** What the engine says of itself: its drivers, and the limits that its kernel knows. Empty where it does not say. */
  info: Json;
  isPodman: boolean;
}

/** Where the engine says whether its kernel has a limit; the engine drops with a warning what it has not. */
const saidOf: Readonly<Record<string, string | null>> = {
  ...{ Memory: 'MemoryLimit', MemorySwap: 'SwapLimit', MemoryReservation: 'MemoryLimit' },
  ...{ OomKillDisable: 'OomKillDisable', PidsLimit: 'PidsLimit', NanoCpus: 'CpuCfsQuota' },
  ...{ CpuQuota: 'CpuCfsQuota', CpuPeriod: 'CpuCfsPeriod', CpuShares: 'CPUShares', CpusetCpus: 'CPUSet' },
  ...{ MemorySwappiness: null, CpuRealtimePeriod: null, CpuRealtimeRuntime: null, BlkioWeight: null },
};

/** A `HostConfig` with what the engine fills in; where that is not known, with what the container has. */
export function withChoices(sent: Json, running: Json, { own, info, isPodman }: EngineDefaults): Json {
  const filled = { ...sent };
  const asItIs = (key: string) => {
    filled[key] = running[key];
  };
  const orAsItIs = (key: string, value: unknown) => {
    if (isEmpty(sent[key])) filled[key] = isEmpty(value) ? running[key] : value;
  };
  const isUnified = info.CgroupVersion !== '1';
  // Podman does not report which one a container has.
  if (!isPodman) orAsItIs('Runtime', info.DefaultRuntime);
  orAsItIs('CgroupnsMode', sent.Privileged === true && !isUnified ? 'host' : own.CgroupnsMode);
  orAsItIs('ShmSize', own.ShmSize);
  if (isPodman) orAsItIs('PidsLimit', own.PidsLimit);
  if (isOwnIpc(running.IpcMode)) orAsItIs('IpcMode', isOwnIpc(own.IpcMode) ? own.IpcMode : null);

  for (const [key, fact] of Object.entries(saidOf)) {
    const isKnown = fact !== null && info[fact] === true;
    if (!isKnown && (isEmpty(running[key]) || running[key] === -1)) asItIs(key);
  }
  // Where swap has no limit of its own, it is as much again as the memory.
  if (isEmpty(sent.MemorySwap) && running.MemorySwap !== -1) {
    const isChosen = Number(running.MemorySwap ?? 0) === 2 * Number(running.Memory ?? 0);
    filled.MemorySwap = isChosen ? running.MemorySwap : 2 * Number(filled.Memory ?? 0);
  }

  filled.LogConfig = logConfig(object(sent.LogConfig), object(running.LogConfig), { own, info });
  const named = new Set(list<Json>(sent.Ulimits).map(({ Name }) => Name));
  filled.Ulimits = [
    ...list(sent.Ulimits),
    ...common(list(running.Ulimits), list(own.Ulimits)).filter(({ Name }) => !named.has(Name)),
  ];
  filled.SecurityOpt = [...list(sent.SecurityOpt), ...labelsByEngine(sent, running)];

  // The service of a removed container is unknown; compose names the container that replaced it.
  for (const key of namespaceModes) {
    if (isShared(sent[key]) && isGone(running[key])) asItIs(key);
  }
  const [from, fromNow] = [list(sent.VolumesFrom), list(running.VolumesFrom)];
  if (from.length === fromNow.length && fromNow.some(isGone)) asItIs('VolumesFrom');
  // Volumes of another container come by `VolumesFrom`, not by name.
  if (from.length > 0) {
    const targets = new Set(list<Json>(sent.Mounts).map(({ Target }) => Target));
    const brought = list<Json>(running.Mounts).filter(({ Target }) => !targets.has(Target));
    filled.Mounts = [...list(sent.Mounts), ...brought];
  }
  return filled;
}

const isOwnIpc = (mode: unknown): boolean => /^(private|shareable)$/.test(String(mode));
const isGone = (container: unknown): boolean => String(container).startsWith(goneContainer);

/** Entries of the first that the second has, too. */
function common(some: readonly unknown[], others: readonly unknown[]): Json[] {
  const text = ({ Name, Soft, Hard }: Json) => `${Name} ${Soft} ${Hard}`;
  const known = new Set((others as Json[]).map(text));
  return (some as Json[]).filter((each) => known.has(text(each)));
}

/** The engine's own options go with its own driver, and with one that is named where it is the same. */
function logConfig(sent: Json, running: Json, { own, info }: Omit<EngineDefaults, 'isPodman'>): Json {
  const Type = isEmpty(sent.Type) ? info.LoggingDriver || running.Type : sent.Type;
  const ownLog = object(own.LogConfig);
  const isOfEngine = !info.LoggingDriver || Type === info.LoggingDriver;
  if (!isOfEngine || Type !== running.Type) return { Type, Config: object(sent.Config) };
  const options = object(ownLog.Config);
  const chosen = Object.entries(object(running.Config)).filter(
    ([key, value]) => ownLog.Type !== Type || options[key] === value,
  );
  return { Type, Config: { ...Object.fromEntries(chosen), ...object(sent.Config) } };
}

/** Labels of SELinux that the engine sets itself for what has privileges, or shares a namespace with others. */
function labelsByEngine(sent: Json, running: Json): unknown[] {
  const isLabel = (option: unknown) => /^label[=:]/.test(String(option));
  const hasMore = [sent, running].some(
    ({ Privileged, PidMode, IpcMode }) =>
      Privileged === true || [PidMode, IpcMode].some((mode) => mode === 'host' || isShared(mode)),
  );
  if (list(sent.SecurityOpt).some(isLabel) || !hasMore) return [];
  return list(running.SecurityOpt).filter(isLabel);
}
