import type { Model } from '../../../engine/cli/compose.ts';
import {
  type DefinedContainer,
  gainedRights,
  type Right,
  type RightsSurroundings,
} from '../../../engine/rights.ts';
import type { ServiceFacts } from '../inspect/installation.ts';
import { type Definition, type Difference, findDifferences } from './shape.ts';
import { inlineConfig, type Place, type SetValue } from './written-text.ts';

/** A container as it is, and as it would be made again; where its image is gone, only what of that gives rights. */
interface Replaced {
  now: Definition;
  next: Definition | DefinedContainer;
}

/** What is known of a service whose containers are replaced. */
export interface DriftFacts {
  service: ServiceFacts;
  replaced: readonly Replaced[];
  surroundings: RightsSurroundings;
  /** References other than the files' own that its containers are made from. */
  otherImages: readonly string[];
  copies: readonly EditedCopy[];
}

/** One thing that recreating the containers of a service would change. */
export type DriftChange = { service: string } & (
  | { kind: 'difference'; difference: Difference }
  | { kind: 'gain'; right: Right }
  | { kind: 'image'; image: OtherImage }
  /** A config or a secret that is made of a variable that no file sets: compose would start the service without it. */
  | { kind: 'unset'; of: 'configs' | 'secrets'; source: string; variable: string }
  | ({ kind: 'copy' } & EditedCopy)
);

/** A change with the texts of the files that decide it; none where no file has a word of it. */
export type WrittenChange = readonly [change: DriftChange, texts: readonly string[]];

/** A reference that a container was made from, where the files name another image. */
export interface OtherImage {
  running: string;
  inFiles: string;
  /** The variable whose default the tag is, in the place where it is written: a file that is included may set it. */
  byDefault?: string | undefined;
}

/** A config or a secret that compose copies into a container after it has made it, and that is not like that there. */
export interface EditedCopy {
  of: 'configs' | 'secrets';
  source: string;
  isNew: boolean;
}

/** Where the files say what a change comes from; null where that makes no difference. */
export function changePlace(change: DriftChange): Place | null {
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

/** What recreating the containers of a service would change, each thing once. */
export function changesOf(
  model: Model,
  { service: { name: service, pin }, replaced, surroundings, otherImages, copies }: DriftFacts,
  setTo: SetValue,
): DriftChange[] {
  const own = model.services[service];
  const inFiles = own?.image;
  const byDefault = pin?.place.kind === 'default' ? pin.place.variable : undefined;
  const changes = [
    ...replaced
      .flatMap(({ now, next }) => ('networks' in next ? findDifferences(now, next) : []))
      .map((difference) => ({ service, kind: 'difference', difference }) as const),
    ...replaced
      .flatMap(({ now, next }) => gainedRights(now, next, surroundings))
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
