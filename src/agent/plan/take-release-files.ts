import { dirname, join, resolve } from 'node:path';
import { readComposeFile } from '../../compose/compose-file.ts';
import { fileOf } from '../../compose/project-files.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Image } from '../../engine/container.ts';
import { runsImage } from '../../engine/same-image.ts';
import { upCommand } from '../../progress/compose-command.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { type Installation, isGenerated, releaseFileNames } from '../inspect/installation.ts';
import { type ReleaseFile, readReleaseFiles } from './release-files.ts';

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
  const { project, product } = installation;
  const wanted = wantedReleaseFiles(installation);
  const running = installation.app.containers.at(-1);
  const fresh = await readReleaseFiles(engine, image, wanted, installation);
  const isSame = running !== undefined && runsImage(running, image);
  const shipped = isSame ? fresh : await shippedByRunning(engine, installation, wanted);
  const texts: ReleaseText[] = [];
  const warnings = wanted
    .filter(({ isUsed }) => !isUsed)
    .map(({ name }) => unusedWarning(installation, name));
  for (const [name, text] of fresh) {
    const path = join(project.directory, name);
    const before = fileOf(installation.files, path)?.text ?? null;
    if (before === text) continue;
    if (before !== null && !isGenerated(before, product)) {
      warnings.push(
        `${name} has no "${product.marker}" in its first line: it is overwritten all the same, and kept in ${backup}/${name}`,
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
  { app, imagesInUse, project, product }: Installation,
  files: readonly ReleaseFile[],
): Promise<Map<string, string> | null> {
  const image = imagesInUse.get(app.containers.at(-1)?.imageId ?? '');
  if (!image) return null;
  return readReleaseFiles(engine, image, files, { project, product }).catch((error) => {
    if (error instanceof UpdateError) return null;
    throw error;
  });
}

/** The generated files among the project's own, by `-f` or by `include`, and one that only lies beside them. */
function wantedReleaseFiles({ project, files }: Installation): ReleaseFile[] {
  const included = files.composeFiles.flatMap((file) =>
    readComposeFile(file).includes.flatMap(({ paths }) =>
      paths.map(({ path }) => resolve(dirname(file.path), path)),
    ),
  );
  return releaseFileNames.flatMap((name) => {
    const path = join(project.directory, name);
    const isUsed = files.composeFiles.some((file) => file.path === path) || included.includes(path);
    return isUsed || fileOf(files, path) ? [{ name, isUsed }] : [];
  });
}

/** Whoever laid the file there meant to start the instance with it. */
function unusedWarning({ project }: Installation, name: string): string {
  const files = [...project.files, join(project.directory, name)];
  return `${name} lies in ${project.directory}, and the instance was started without it: the update keeps it up to date and leaves it out, too; to start the instance with it, add -f: ${upCommand({ ...project, files })}`;
}
