import { UpdateError } from '../../progress/update-error.ts';
import type { Engine } from '../cli/engine.ts';
import { refusal } from '../http/fault.ts';
import type { EngineAnswer } from '../http/request.ts';
import { askApi } from './api.ts';
import type { Blueprint } from './blueprint.ts';
import { mendArchives } from './container-file.ts';
import { type CopiedFile, copiedArchive } from './copied-files.ts';
import { createScratch, removeScratch } from './scratch.ts';

/** Copies the files into a container, running or not, as compose did. @throws UpdateError engine-away */
export const putCopies = (engine: Engine, id: string, copied: readonly CopiedFile[]): Promise<EngineAnswer> =>
  askApi(engine, {
    method: 'PUT',
    path: `/containers/${id}/archive?path=${encodeURIComponent('/')}`,
    body: copiedArchive(copied),
  });

/**
 * Sees, before anything is stopped, that the engine puts a container's copied files into one made from its image. Compose
 * does the same with the new container after it has removed the old one, and there would be no way back either.
 * @param project whose containers that are never started go with the next run, should this one be killed
 * @throws UpdateError engine-away
 */
export async function proveCopies(
  engine: Engine,
  { name, imageId, platform, copied }: Blueprint,
  project: string,
): Promise<void> {
  if (copied.length === 0) return;
  const scratch = await createScratch(engine, imageId, project, { platform });
  // Whether there is a way back to an image that is gone is told elsewhere.
  if (scratch === null) return;
  try {
    const answer = await putCopies(engine, scratch, copied);
    if (answer.status === 200) return;
    const paths = copied.map(({ path }) => path).join(', ');
    throw new UpdateError(
      'engine-away',
      `the engine does not copy ${paths} into a container like ${name}: ${refusal(answer)}`,
      { advice: mendArchives },
    );
  } finally {
    await removeScratch(engine.uncancellable(), scratch).catch(() => {});
  }
}
