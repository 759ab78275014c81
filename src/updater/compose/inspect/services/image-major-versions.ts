import { findDataStoreKind, parseImageReference } from '../../../../core/compose/pins/image-reference.ts';
import { isMajorVersionChange } from '../../../../core/release/compare-versions.ts';
import type { ComposeModel } from '../../../../engine/cli/compose.ts';
import { type Container, serviceOf } from '../../../../engine/objects/container.ts';

/**
 * Returns warnings, keyed by service, if the files specify another major version of an image. That version may be
 * unable to read the existing data. A warning contains no command, because recreating the service may lose access to
 * the data.
 */
export function findImageMajorVersionWarnings(
  containers: readonly Container[],
  { services }: Pick<ComposeModel, 'services'>,
): ReadonlyMap<string, string> {
  const warnings = containers.flatMap((each) => {
    const [service, from] = [serviceOf(each), each.imageReference];
    const to = services[service]?.image ?? from;
    const mounts = each.storage.filter(({ type, writable }) => writable && /^(?:bind|volume)$/.test(type));
    const isStore =
      findDataStoreKind(
        from,
        mounts.map(({ destination }) => destination),
      ) !== null;
    if (!isOtherMajor(from, to, isStore) || (mounts.length === 0 && !isStore)) return [];
    const warning = `the files change ${service} from ${from} to ${to}, a different major version, which may be unable to read the existing data. Dump the data of ${service} first and follow the upgrade guide of its image; until then, do not recreate ${service}`;
    return [[service, warning] as const];
  });
  return new Map(warnings);
}

/** If a tag contains no version, every tag change of a data store counts as a major one. */
function isOtherMajor(from: string, to: string, isStore: boolean): boolean {
  const tags = [from, to].map((reference) => parseImageReference(reference)?.tag ?? '');
  const [before, after] = tags.map((tag) => /\d+(?:\.\d+)*/.exec(tag)?.[0]);
  return before && after ? isMajorVersionChange(before, after) : isStore && tags[0] !== tags[1];
}
