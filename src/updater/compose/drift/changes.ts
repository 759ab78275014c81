import type { ComposeModel } from '../../../engine/cli/compose.ts';
import {
  type ContainerDefinition,
  findGainedPrivileges,
  type HostPrivilege,
  type PrivilegeContext,
} from '../../../engine/comparison/find-gained-privileges.ts';
import type { InstalledService } from '../inspect/installation.ts';
import {
  type DefinitionDifference,
  type DriftDefinition,
  findDefinitionDifferences,
} from './find-differences.ts';
import { inlineConfigSection, type ServiceSettingPath, type VariableResolver } from './setting-texts.ts';

/**
 * A running container's definition, and the definition that it would have after being recreated. If the image is gone,
 * `next` contains only settings that grant privileges.
 */
interface ReplacedContainer {
  now: DriftDefinition;
  next: DriftDefinition | ContainerDefinition;
}

export interface DriftInput {
  service: InstalledService;
  replaced: readonly ReplacedContainer[];
  surroundings: PrivilegeContext;
  /** Image references of the service's containers that differ from the reference in the files. */
  otherImages: readonly string[];
  copies: readonly EditedFileCopy[];
}

/** A change that recreating a service's containers would cause. */
export type DriftChange = { service: string } & (
  | { kind: 'difference'; difference: DefinitionDifference }
  | { kind: 'gain'; right: HostPrivilege }
  | { kind: 'image'; image: ImageMismatch }
  /** Compose would omit this config or secret, because no file sets its environment variable. */
  | { kind: 'unset'; of: 'configs' | 'secrets'; source: string; variable: string }
  | ({ kind: 'copy' } & EditedFileCopy)
);

/**
 * A change, and the texts in the files that determine the setting. `texts` is empty if no file mentions the setting.
 */
export type ChangeWithSettingTexts = readonly [change: DriftChange, texts: readonly string[]];

/** A container's image reference, and the reference in the files, which differs from it. */
export interface ImageMismatch {
  running: string;
  inFiles: string;
  /** Unset variable whose default determines the tag. Another file, such as an included file, may set the variable. */
  byDefault?: string | undefined;
}

/** A config or secret whose copy in the running container is missing or differs from the files. */
export interface EditedFileCopy {
  of: 'configs' | 'secrets';
  source: string;
  isNew: boolean;
}

/** Returns the position of the changed setting in the files. Null if its text does not affect the classification. */
export function settingPathOf(change: DriftChange): ServiceSettingPath | null {
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
      return change.of === 'secrets' || change.isNew
        ? null
        : { section: inlineConfigSection, item: change.source };
  }
}

/** Lists, without duplicates, the changes that recreating a service's containers would cause. */
export function listDriftChanges(
  model: ComposeModel,
  { service: { name: service, pin }, replaced, surroundings, otherImages, copies }: DriftInput,
  setTo: VariableResolver,
): DriftChange[] {
  const own = model.services[service];
  const inFiles = own?.image;
  const byDefault = pin?.location.kind === 'default' ? pin.location.variable : undefined;
  const changes = [
    ...replaced
      .flatMap(({ now, next }) => ('networks' in next ? findDefinitionDifferences(now, next) : []))
      .map((difference) => ({ service, kind: 'difference', difference }) as const),
    ...replaced
      .flatMap(({ now, next }) => findGainedPrivileges(now, next, surroundings))
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
