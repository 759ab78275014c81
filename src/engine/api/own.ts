import type { Engine } from '../cli/engine.ts';
import type { Container } from '../container.ts';
import { findOwnContainer, type OwnTraces } from '../own-container.ts';
import { inspectContainers, listContainers } from './query.ts';

/** The engine's view of the container that this process runs in; null where it knows none. @throws UpdateError engine-away */
export const inspectOwn = (engine: Engine, traces: OwnTraces): Promise<Container | null> =>
  findOwnContainer(
    {
      inspect: async (name) => (await inspectContainers(engine, [name]))[0] ?? null,
      inNetworkOf: async (id) =>
        (await listContainers(engine, { status: ['running'] })).flatMap((each) =>
          each.networkMode === `container:${id}` ? [each.id] : [],
        ),
    },
    traces,
  );
