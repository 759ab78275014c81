import { createHash } from 'node:crypto';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { type Product, releaseFilesLabelOf } from '../../../core/names/product.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { isContainerOfImage } from '../../../engine/comparison/same-image.ts';
import {
  type ContainerFile,
  readContainerFile,
  type UnreadableFileReason,
} from '../../../engine/containers/container-file.ts';
import { createHelperContainer, removeHelperContainer } from '../../../engine/containers/helper-container.ts';
import type { Image } from '../../../engine/objects/container.ts';
import { type Installation, isGeneratedComposeFile } from '../inspect/installation.ts';
import {
  listUsedReleaseComposeFiles,
  planComposeFileReplacements,
  type ReleaseComposeTexts,
} from '../plan/release/plan-compose-file-replacements.ts';

const maxBytes = 1024 * 1024;

/** Returns the directory in the image that contains the release's compose files. */
export const releaseDirectoryOf = (labels: Readonly<Record<string, string>>, product: Product): string =>
  labels[releaseFilesLabelOf(product)] || product.releaseDirectory;

/** Reads a release's compose files from its image, and plans which files they overwrite. */
export async function readComposeFileReplacements(
  engine: Engine,
  installation: Installation,
  image: Image,
  { backup, proven = new Map() }: { backup: string; proven?: ReadonlyMap<string, string> | undefined },
): Promise<ReturnType<typeof planComposeFileReplacements>> {
  const { app, imagesInUse } = installation;
  const wanted = listUsedReleaseComposeFiles(installation);
  const fresh = await readReleaseFiles(engine, image, wanted, installation);
  requireVerifiedFiles(fresh, proven);
  const running = app.containers.at(-1);
  if (running && isContainerOfImage(running, image))
    return planComposeFileReplacements(installation, fresh, fresh, backup);
  const old = imagesInUse.get(running?.imageId ?? '');
  const reading = old === undefined ? null : readReleaseFiles(engine, old, wanted, installation);
  // If the files of the running release cannot be read, the update continues without detecting manual edits.
  const shipped = await reading?.catch((error) => {
    if (error instanceof UpdateError) return null;
    throw error;
  });
  return planComposeFileReplacements(installation, fresh, shipped ?? null, backup);
}

/** @throws UpdateError not-proven if a file does not match its verified digest */
function requireVerifiedFiles(fresh: ReleaseComposeTexts, proven: ReadonlyMap<string, string>): void {
  for (const [name, text] of fresh) {
    const is = `sha256:${createHash('sha256').update(text).digest('hex')}`;
    if (proven.has(name) && proven.get(name) !== is)
      throw new UpdateError('not-proven', `the release's ${name} (${is}) does not match the verified file`);
  }
}

/**
 * Copies compose files from an image without running the image. Accepts only regular UTF-8 files of at most 1 MiB, with
 * the marker in the first line.
 * @throws UpdateError release-file, no-marker
 */
async function readReleaseFiles(
  engine: Engine,
  image: Image,
  names: readonly string[],
  { project, product }: Pick<Installation, 'project' | 'product'>,
): Promise<ReleaseComposeTexts> {
  const from = releaseDirectoryOf(image.labels, product);
  const container = await createHelperContainer(engine, image.id, project.name);
  if (container === null)
    throw new UpdateError('engine-unavailable', `the engine no longer has image ${image.id}`);
  try {
    const texts = new Map<string, string>();
    for (const name of names) {
      const file = await readContainerFile(engine, container, `${from}/${name}`, maxBytes);
      if (file === 'missing') {
        const message = `the release has no ${name} in ${from}, but this installation uses that file`;
        throw new UpdateError('release-file', message);
      }
      texts.set(name, releaseText(file, name, product));
    }
    return texts;
  } finally {
    await removeHelperContainer(engine.uncancellable(), container).catch(() => {});
  }
}

function releaseText(file: ContainerFile | UnreadableFileReason, name: string, product: Product): string {
  if (typeof file === 'string') {
    const what = file === 'too-big' ? 'larger than 1 MiB' : 'not a regular file';
    throw new UpdateError('release-file', `the release's ${name} is ${what}`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file.content);
  } catch (cause) {
    throw new UpdateError('release-file', `the release's ${name} is not UTF-8 text`, { cause });
  }
  if (!isGeneratedComposeFile(text, product)) {
    throw new UpdateError('no-marker', `the release's ${name} does not start with "${product.marker}"`);
  }
  return text;
}
