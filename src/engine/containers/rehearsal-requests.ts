import type { Engine } from '../cli/engine.ts';
import { type Json, requireList, toList, toObject } from '../objects/json.ts';
import { rehearsalLabel } from '../objects/labels.ts';

/** Network as the engine reports it. */
export interface ListedNetwork {
  id: string;
  name: string;
  isInternal: boolean;
  hasIpv6: boolean;
  options: Json;
  /** Value of the rehearsal's label; null if the network has no such label. */
  token: string | null;
  /** Addresses of the host in this network. */
  gateways: readonly string[];
}

/** Lists all networks of the engine. */
export async function listAllNetworks(engine: Engine): Promise<ListedNetwork[]> {
  const { body } = await engine.request('listNetworks');
  return (requireList(JSON.parse(body.toString())) as Json[]).map((raw) => ({
    id: String(raw.Id),
    name: String(raw.Name),
    isInternal: raw.Internal === true,
    hasIpv6: raw.EnableIPv6 === true,
    options: toObject(raw.Options),
    token: (toObject(raw.Labels)[rehearsalLabel] as string | undefined) ?? null,
    gateways: toList<Json>(toObject(raw.IPAM).Config).flatMap(({ Gateway }) =>
      Gateway ? [String(Gateway)] : [],
    ),
  }));
}

/** Removes a network. A missing network counts as removed. */
export async function removeNetwork(engine: Engine, id: string): Promise<void> {
  await engine.request('removeNetwork', { params: { id } });
}

/** Returns the memory in bytes that a container uses, without file contents that the kernel can discard. */
export async function readMemoryUse(engine: Engine, id: string): Promise<number> {
  const { status, body } = await engine.request('readStats', {
    params: { id },
    query: { stream: '0', 'one-shot': '1' },
  });
  const { usage, stats } = status === 404 ? {} : toObject(toObject(JSON.parse(body.toString())).memory_stats);
  const { inactive_file, total_inactive_file } = toObject(stats);
  return Math.max(0, Number(usage ?? 0) - Number(inactive_file ?? total_inactive_file ?? 0));
}
