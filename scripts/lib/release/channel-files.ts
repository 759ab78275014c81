import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type ChannelFile,
  parseChannelFile,
  verifyChannelFile,
} from '../../../src/provenance/channel-file.ts';
import type { Trust } from '../../../src/provenance/trust.ts';
import { canonical } from './describe.ts';
import type { Sign } from './signer.ts';

/** The channel file and its signature bundle. */
export const channelNames = ['channel.json', 'channel.json.sigstore.json'] as const;

/**
 * Reads a published channel file, so that a new one is made from it. Without `trust`, its signature is not verified.
 * @throws Error if it is invalid or not signed by a trusted publisher
 */
export async function readCurrent(path: string, trust: Trust | null): Promise<ChannelFile> {
  try {
    const bytes = await readFile(path);
    const file = parseChannelFile(bytes);
    if (trust !== null)
      await verifyChannelFile(bytes, await readFile(`${path}.sigstore.json`, 'utf8'), trust, file);
    return file;
  } catch (cause) {
    throw new Error(`the current channel file ${path} cannot be used: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** The bytes of a channel file. @throws Error if readers would not accept it */
export function channelBytes(file: ChannelFile): Buffer {
  const bytes = canonical(file);
  try {
    parseChannelFile(bytes);
  } catch (cause) {
    throw new Error(`the new channel file would be invalid: ${(cause as Error).message}`, { cause });
  }
  return bytes;
}

/** Signs a channel file, verifies it like its readers, and writes it with its bundle to a folder. */
export async function writeChannel(
  folder: string,
  file: ChannelFile,
  sign: Sign,
  trust: Trust | null,
): Promise<void> {
  const bytes = channelBytes(file);
  const bundle = await sign(bytes);
  if (trust !== null) await verifyChannelFile(bytes, bundle, trust, file);
  for (const [at, content] of [bytes, bundle].entries())
    await writeFile(join(folder, channelNames[at] ?? ''), content);
}
