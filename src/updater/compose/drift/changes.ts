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
 * A running container's definition, and its definition after recreation. If the image is gone, `next` contains only
 * settings that grant privileges.
 */
interface Replaced {
  now: Definition;
  next: Definition | ContainerDefinition;
}

export interface DriftFacts {
  service: ServiceFacts;
  replaced: readonly Replaced[];
  surroundings: RightsContext;
  /** Image references of the service's containers that differ from the reference in the files. */
  otherImages: readonly string[];
  copies: readonly EditedCopy[];
}

/** A change that recreating a service's containers would cause. */
export type DriftChange = { service: string } & (
  | { kind: 'difference'; difference: DefinitionDifference }
  | { kind: 'gain'; right: HostRight }
  | { kind: 'image'; image: ImageMismatch }
  /** Compose would start the service without this config or secret, because no file sets its environment variable. */
  | { kind: 'unset'; of: 'configs' | 'secrets'; source: string; variable: string }
  | ({ kind: 'copy' } & EditedCopy)
);

/**
 * A change, and the texts in the files that determine the changed setting. There are none if no file mentions the
 * setting.
 */
export type WrittenChange = readonly [change: DriftChange, texts: readonly string[]];

/** A container's image reference, and the different reference of its service in the files. */
export interface ImageMismatch {
  running: string;
  inFiles: string;
  /**
   * Variable whose default determines the tag, because it is unset for the file that contains the tag. It may be set
   * for another file, such as an included file.
   */
  byDefault?: string | undefined;
}

/** A config or secret whose copy in the running container is missing or differs from the files. */
export interface EditedCopy {
  of: 'configs' | 'secrets';
  source: string;
  isNew: boolean;
}

/**
 * Returns the position in the files that caused a change. Null if the text at this position does not affect how the
 * change is classified.
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

/** Lists, without duplicates, the changes that recreating a service's containers would cause. */
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
