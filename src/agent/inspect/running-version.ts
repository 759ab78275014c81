import { parseReference } from '../../compose/reference.ts';
import type { Container } from '../../engine/container.ts';
import { versionLabel } from '../../engine/labels.ts';
import { compareVersions } from '../../release/order.ts';
import { parseTag, versionFromLabel } from '../../release/tag.ts';

/** The versions that containers run, `1.4.2`, the oldest first: by a release tag of the image, else by its label. */
export function runningVersions(containers: readonly Container[]): string[] {
  const versions = containers.flatMap((container) => {
    const reference = parseReference(container.imageReference);
    const tag = parseTag(reference?.tag ?? 'latest');
    const version = tag.kind === 'release' ? tag.version : versionFromLabel(container.labels[versionLabel]);
    return version ? [version] : [];
  });
  return versions.sort(compareVersions);
}
