import { isWithin } from '../../files/host-paths.ts';
import type { Engine } from '../cli/engine.ts';
import { listRaw } from './query.ts';

/** What a container has mounted, as the engine tells of it. */
export interface NamedMount {
  /** The volume's name; empty for a bind. */
  volume: string;
  /** On the host. */
  source: string;
  destination: string;
}

/** Binds and volumes of all containers, stopped ones too, that have a path in them. @throws UpdateError engine-away */
export async function mountsWith(engine: Engine, path: string): Promise<NamedMount[]> {
  const list = (await listRaw(engine, {})) as {
    Mounts?: { Type?: string; Name?: string; Source?: string; Destination?: string }[] | null;
  }[];
  return list
    .flatMap(({ Mounts }) => Mounts ?? [])
    .flatMap(({ Type, Name = '', Source = '', Destination = '' }): NamedMount[] => {
      if ((Type !== 'bind' && Type !== 'volume') || Source === '' || !isWithin(path, Destination)) return [];
      return [{ volume: Type === 'volume' ? Name : '', source: Source, destination: Destination }];
    });
}
