import type { MadeDefinition } from '../../engine/api/query.ts';
import type { Model } from '../../engine/cli/compose.ts';
import { networkHash, volumeHash } from '../../engine/definition-hash.ts';

/** A network or a volume of the project that services use. */
export interface UsedDefinition {
  /** In the engine. */
  name: string;
  /** What compose makes of its definition today. */
  hash: string;
  /** Of the services asked about. */
  services: readonly string[];
}

export interface UsedDefinitions {
  networks: readonly UsedDefinition[];
  volumes: readonly UsedDefinition[];
}

/** Networks and volumes that these services use; external ones are somebody else's to define. */
export function usedDefinitions(model: Model, services: readonly string[]): UsedDefinitions {
  const networksOf = (name: string) => {
    const { networks, network_mode } = model.services[name] ?? {};
    return Object.keys(networks ?? (network_mode === undefined ? { default: null } : {}));
  };
  const volumesOf = (name: string) =>
    (model.services[name]?.volumes ?? []).flatMap(({ type, source }) =>
      type === 'volume' && source !== undefined ? [source] : [],
    );
  const used = (
    definitions: Model['networks'],
    keysOf: (service: string) => readonly string[],
    hashOf: typeof networkHash,
  ): UsedDefinition[] =>
    Object.entries(definitions ?? {}).flatMap(([key, definition]) => {
      const users = services.filter((service) => keysOf(service).includes(key));
      const name = definition?.name;
      if (!definition || name === undefined || definition.external || users.length === 0) return [];
      return [{ name, hash: hashOf({ ...definition }), services: users }];
    });
  return {
    networks: used(model.networks, networksOf, networkHash),
    volumes: used(model.volumes, volumesOf, volumeHash),
  };
}

/**
 * Those that were made from another definition. One that has no hash was made by an older compose, or by hand: compose
 * takes it as it is. So it does with two of one name, of which it cannot tell the right one.
 */
export function findEdited(
  used: readonly UsedDefinition[],
  made: readonly Omit<MadeDefinition, 'options'>[],
): UsedDefinition[] {
  return used.filter(({ name, hash }) => {
    const [found, ...doubles] = made.filter((each) => each.name === name);
    return found !== undefined && doubles.length === 0 && found.hash !== null && found.hash !== hash;
  });
}
