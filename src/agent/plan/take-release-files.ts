import { basename, join } from 'node:path';
import { readComposeFile } from '../../compose/compose-file.ts';
import { type Draft, draftOf, withText } from '../../compose/draft.ts';
import { fileOf } from '../../compose/project-files.ts';
import { inspectImages } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Image } from '../../engine/container.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { type Installation, isGenerated, releaseFileNames } from '../inspect/installation.ts';
import { readReleaseFiles } from './release-files.ts';

/** The files that the release ships overwrite those of the install, all that it uses. */
export async function takeReleaseFiles(
  engine: Engine,
  installation: Installation,
  image: Image,
  backup: string,
): Promise<{ draft: Draft; warnings: string[] }> {
  const { directory } = installation.project;
  const used = usedReleaseFiles(installation);
  const runningId = installation.services[0]?.containers.at(-1)?.imageId;
  const fresh = await readReleaseFiles(engine, image, used, installation.project.name);
  const shipped =
    runningId === image.id
      ? fresh
      : await shippedByRunning(engine, runningId, used, installation.project.name);
  let draft = draftOf(installation.files);
  const warnings: string[] = [];
  for (const [name, after] of fresh) {
    const path = join(directory, name);
    const before = fileOf(draft.files, path)?.text ?? null;
    if (before === after) continue;
    if (before !== null && !isGenerated(before)) {
      warnings.push(
        `${name} has no "# svc:generated" in its first line: it is overwritten all the same, and kept in ${backup}/${name}`,
      );
    } else if (before !== null && shipped?.has(name) && shipped.get(name) !== before) {
      warnings.push(`${name} was edited by hand: it is overwritten, and kept in ${backup}/${name}`);
    }
    draft = withText(draft, { path, text: after }, `${name}: the file of the new release`, 'linkedFiles');
  }
  return { draft, warnings };
}

/** The files as the running release shipped them; null where its image is gone or has none. */
async function shippedByRunning(
  engine: Engine,
  imageId: string | undefined,
  names: readonly string[],
  project: string,
): Promise<Map<string, string> | null> {
  const [image] = imageId ? await inspectImages(engine, [imageId]) : [];
  if (!image) return null;
  return readReleaseFiles(engine, image, names, project).catch((error) => {
    if (error instanceof UpdateError) return null;
    throw error;
  });
}

/** The generated files among the project's own, by `-f` or by `include`. */
function usedReleaseFiles(installation: Installation): string[] {
  const { directory } = installation.project;
  const { composeFiles } = installation.files;
  const included = composeFiles.flatMap((file) =>
    readComposeFile(file).includes.flatMap(({ paths }) => paths.map(({ path }) => basename(path))),
  );
  return releaseFileNames.filter(
    (name) => composeFiles.some(({ path }) => path === join(directory, name)) || included.includes(name),
  );
}
