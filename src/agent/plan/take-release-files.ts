import { basename, join } from 'node:path';
import { readComposeFile } from '../../compose/compose-file.ts';
import { fileOf } from '../../compose/project-files.ts';
import { inspectImages } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Image } from '../../engine/container.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { type Installation, isGenerated, releaseFileNames } from '../inspect/installation.ts';
import { readReleaseFiles } from './release-files.ts';

/** A file that the release ships, and that overwrites the one of the install. */
export interface ReleaseText {
  path: string;
  text: string;
  /** For the log. */
  description: string;
}

/** The files that the release ships overwrite those of the install, all that it uses. Refusals: release-file, no-marker. */
export async function takeReleaseFiles(
  engine: Engine,
  installation: Installation,
  image: Image,
  backup: string,
): Promise<{ texts: readonly ReleaseText[]; warnings: readonly string[] }> {
  const { directory, name: project } = installation.project;
  const used = usedReleaseFiles(installation);
  const runningId = installation.app.containers.at(-1)?.imageId;
  const fresh = await readReleaseFiles(engine, image, used, project);
  const shipped = runningId === image.id ? fresh : await shippedByRunning(engine, runningId, used, project);
  const texts: ReleaseText[] = [];
  const warnings: string[] = [];
  for (const [name, text] of fresh) {
    const path = join(directory, name);
    const before = fileOf(installation.files, path)?.text ?? null;
    if (before === text) continue;
    if (before !== null && !isGenerated(before)) {
      warnings.push(
        `${name} has no "# svc:generated" in its first line: it is overwritten all the same, and kept in ${backup}/${name}`,
      );
    } else if (before !== null && shipped?.has(name) && shipped.get(name) !== before) {
      warnings.push(`${name} was edited by hand: it is overwritten, and kept in ${backup}/${name}`);
    }
    texts.push({ path, text, description: `${name}: the file of the new release` });
  }
  return { texts, warnings };
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
