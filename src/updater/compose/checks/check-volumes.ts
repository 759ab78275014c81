import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { isContainerOfImage } from '../../../engine/comparison/same-image.ts';
import { hasDirectoryEntries, readContainerFile } from '../../../engine/containers/container-file.ts';
import { serviceOf } from '../../../engine/objects/container.ts';
import type { PreparedPlan } from '../plan/prepared-plan.ts';
import {
  describeUnmountedData,
  findUnmountedData,
  formatMountLines,
  isAnonymousVolume,
  type UnmountedData,
} from '../plan/unmounted-data.ts';

/**
 * Rejects an update that would lose data (docs/contract.md 4.12). Services whose new image is not on this machine are
 * skipped.
 * @throws UpdateError volume-moved, engine-unavailable
 */
export async function requireNoDataLoss(engine: Engine, plan: PreparedPlan): Promise<void> {
  const { installation, model, references, images, changes, to } = plan;
  const [left, sentences, existing]: [UnmountedData[], string[], Set<string>] = [[], [], new Set()];
  for (const name of new Set([...references.keys(), ...installation.followers.map((each) => each.name)])) {
    const own = installation.containers.filter((each) => serviceOf(each) === name);
    const reference = references.get(name) ?? own[0]?.imageReference ?? '';
    const image = images.get(reference) ?? (await engine.inspectImages([reference]))[0];
    // Without the image's configuration, the volumes that the image declares are unknown.
    if (!image?.config || (changes.length === 0 && own.every((each) => isContainerOfImage(each, image))))
      continue;
    for (const each of findUnmountedData(plan, name, image)) {
      const { id } = each.container;
      if (isAnonymousVolume(each.mount) && !(await hasDirectoryEntries(engine, id, each.mount.destination)))
        continue;
      left.push(each);
      sentences.push(describeUnmountedData(each, reference));
      for (const path of each.newPaths)
        if ((await readContainerFile(engine, id, path, 0)) !== 'missing') existing.add(`${name}:${path}`);
    }
  }
  const [first, ...others] = sentences;
  if (first === undefined) return;
  throw new UpdateError('volume-moved', first, {
    detail: [...others, ...formatMountLines(left, existing, model)],
    advice: `Add the lines above to the compose file. If updates replace that file, add them to compose.override.yaml and run docker compose up -d. The lines mount the data at its old path and at each new path. If the release notes of ${to} describe how to move the data, follow them. Then run {command} again.`,
  });
}
