import { readFile } from 'node:fs/promises';
import type { TextFile } from '../compose/text-file.ts';
import { UpdateError } from '../progress/update-error.ts';

const maxBytes = 5 * 1024 * 1024;

/**
 * A compose or env file as text; its byte order mark and line ends stay.
 * @throws UpdateError compose-invalid where it is missing, unreadable, over 5 MiB or not UTF-8
 */
export async function readTextFile(path: string): Promise<TextFile> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    const why =
      error.code === 'ENOENT' ? 'does not exist' : `cannot be read (${error.code ?? error.message})`;
    throw new UpdateError('compose-invalid', `${path} ${why}`, {
      advice:
        'Put the file back, or start the instance anew with docker compose up -d and the files it has now.',
      cause: error,
    });
  });
  if (bytes.length > maxBytes) {
    throw new UpdateError('compose-invalid', `${path} is larger than 5 MiB`, {
      advice: 'That is no compose or env file: see what it holds.',
    });
  }
  try {
    return { path, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch (cause) {
    throw new UpdateError('compose-invalid', `${path} is not UTF-8 text`, {
      advice: 'Save the file as UTF-8.',
      cause,
    });
  }
}

/** Null where it does not exist. */
export async function readTextFileIfThere(path: string): Promise<TextFile | null> {
  try {
    return await readTextFile(path);
  } catch (error) {
    if (((error as UpdateError).cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return null;
    throw error;
  }
}
