import type { PutBack } from '../compose/replace-files.ts';
import type { Image } from '../engine/container.ts';
import { UpdateError } from '../progress/update-error.ts';
import { tagBack } from './pull.ts';
import type { RunContext } from './run-context.ts';

/** What has to be put back when the run fails. */
export interface Undo {
  files: PutBack | null;
  tags: ReadonlyMap<string, Image>;
  /** Recreate has begun. */
  decided: boolean;
}

/** Files first, then tags. @throws UpdateError files-not-back */
export async function putBack({ engine, log }: RunContext, undo: Undo): Promise<void> {
  // A cancelled run still has this to do.
  engine.signal = undefined;
  const { files } = undo;
  undo.files = null;
  try {
    for (const path of (await files?.()) ?? []) {
      log.warn(`${path} was changed meanwhile: it is left as it is`);
    }
  } catch (cause) {
    const { message } = cause as Error;
    throw new UpdateError('files-not-back', `the files could not be put back: ${message}`, { cause });
  }
  await tagBack(engine, undo.tags, log).catch((error: Error) => {
    log.warn(
      `the tags could not be put back, the next docker compose up may start the new image: ${error.message}`,
    );
  });
}
