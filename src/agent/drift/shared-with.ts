import { inspectWhole } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { type Json, list, object } from '../../engine/json.ts';
import { composeLabels } from '../../engine/labels.ts';

const modes = ['NetworkMode', 'PidMode', 'IpcMode'] as const;

/**
 * Names the containers whose namespaces and volumes a `HostConfig` takes, as a compose file does: `service:db`, for one
 * that is not of the project `container:other`, and `container:gone` for one that is not there any more.
 */
export type NameShared = (hostConfig: Json) => Json;

/** @param hostConfigs all that will be asked for @throws UpdateError engine-away */
export async function findShared(
  engine: Engine,
  project: string,
  hostConfigs: readonly Json[],
): Promise<NameShared> {
  const asked = [...new Set(hostConfigs.flatMap(sharedContainers))];
  const found = await Promise.all(
    asked.map(
      async (container) => [container, nameOf(await inspectWhole(engine, [container]), project)] as const,
    ),
  );
  const names = new Map(found);
  const named = (container: string) => names.get(container) ?? goneContainer;
  return (hostConfig) => ({
    ...hostConfig,
    ...Object.fromEntries(
      modes.flatMap((key) => {
        const container = containerOf(hostConfig[key]);
        return container === null ? [] : [[key, named(container)]];
      }),
    ),
    VolumesFrom: list(hostConfig.VolumesFrom).map((entry) => {
      const [container = '', mode = ''] = String(entry).split(':');
      return `${named(container)}${mode === 'ro' ? ' read-only' : ''}`;
    }),
  });
}

export const goneContainer = 'container:gone';

const containerOf = (mode: unknown): string | null => /^container:(.+)$/.exec(String(mode))?.[1] ?? null;

const sharedContainers = (hostConfig: Json): string[] => [
  ...modes.flatMap((key) => containerOf(hostConfig[key]) ?? []),
  ...list(hostConfig.VolumesFrom).map((entry) => String(entry).split(':')[0] ?? ''),
];

function nameOf([raw]: readonly Json[], project: string): string {
  if (raw === undefined) return goneContainer;
  const labels = object(object(raw.Config).Labels);
  return labels[composeLabels.project] === project
    ? `service:${labels[composeLabels.service]}`
    : `container:${String(raw.Name).replace(/^\//, '')}`;
}
