import type { ComposeModel } from '../../../engine/cli/compose.ts';
import {
  type ContainerDefinition,
  findGainedRights,
  type HostRight,
  type RightsContext,
} from '../../../engine/comparison/find-gained-rights.ts';
import type { ServiceFacts } from '../inspect/installation.ts';
import { type Definition, type DefinitionDifference, findDifferences } from './find-differences.ts';
import { inlineConfig, type TextPosition, type VariableResolver } from './written-text.ts';

/**
 * A running container and its definition after recreation. If its image is gone, `next` contains only settings that
 * grant rights.
 */
interface Replaced {
  now: Definition;
  next: Definition | ContainerDefinition;
}

/** Facts about a service whose containers are replaced. */
export interface DriftFacts {
  service: ServiceFacts;
  replaced: readonly Replaced[];
  surroundings: RightsContext;
  /** Image references of the service's containers that differ from the reference in the files. */
  otherImages: readonly string[];
  copies: readonly EditedCopy[];
}

/** A change that recreating the containers of a service would make. */
export type DriftChange = { service: string } & (
  | { kind: 'difference'; difference: DefinitionDifference }
  | { kind: 'gain'; right: HostRight }
  | { kind: 'image'; image: ImageMismatch }
  /** A config or secret from an environment variable that no file sets: compose would start the service without it. */
  | { kind: 'unset'; of: 'configs' | 'secrets'; source: string; variable: string }
  | ({ kind: 'copy' } & EditedCopy)
);

/**
 * A change, and the texts in the files that determine the changed setting. The texts are empty if no file mentions it.
 */
export type WrittenChange = readonly [change: DriftChange, texts: readonly string[]];

/** Image references of a container and of its service in the files, if they differ. */
export interface ImageMismatch {
  running: string;
  inFiles: string;
  /**
   * Variable that is unset at the location of the tag, so that its default determines the tag. The variable may be set
   * for another file, such as an included file.
   */
  byDefault?: string | undefined;
}

/**
 * A config or secret that compose copies into a new container, and whose copy in the running container differs or is
 * missing.
 */
export interface EditedCopy {
  of: 'configs' | 'secrets';
  source: string;
  isNew: boolean;
}

/**
 * Returns the position in the files that a change comes from. Null if the texts there do not affect its classification.
 */
export function changePosition(change: DriftChange): TextPosition | null {
  switch (change.kind) {
    case 'difference':
      return change.difference;
    case 'gain':
      return change.right;
    case 'image':
      return { section: 'image', item: '' };
    case 'unset':
      return null;
    case 'copy':
      return change.of === 'secrets' || change.isNew ? null : { section: inlineConfig, item: change.source };
  }
}

/** Returns, without duplicates, the changes that recreating the containers of a service would make. */
export function listDriftChanges(
  model: ComposeModel,
  { service: { name: service, pin }, replaced, surroundings, otherImages, copies }: DriftFacts,
  setTo: VariableResolver,
): DriftChange[] {
  const own = model.services[service];
  const inFiles = own?.image;
  const byDefault = pin?.place.kind === 'default' ? pin.place.variable : undefined;
  const changes = [
    ...replaced
      .flatMap(({ now, next }) => ('networks' in next ? findDifferences(now, next) : []))
      .map((difference) => ({ service, kind: 'difference', difference }) as const),
    ...replaced
      .flatMap(({ now, next }) => findGainedRights(now, next, surroundings))
      .map((right) => ({ service, kind: 'gain', right }) as const),
    ...(inFiles === undefined
      ? []
      : otherImages.map(
          (running) => ({ service, kind: 'image', image: { running, inFiles, byDefault } }) as const,
        )),
    ...(['secrets', 'configs'] as const).flatMap((of) =>
      (own?.[of] ?? []).flatMap(({ source }) => {
        const variable = model[of]?.[source]?.environment;
        return variable && setTo(variable) === null
          ? [{ service, kind: 'unset', of, source, variable } as const]
          : [];
      }),
    ),
    ...copies.map((copy) => ({ service, kind: 'copy', ...copy }) as const),
  ];
  return [...new Map(changes.map((each) => [JSON.stringify(each), each])).values()];
}
