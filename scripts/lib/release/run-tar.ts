import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { buffer, text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import type { Descriptor, LayoutImage } from './layout.ts';

/**
 * Runs tar on a layer. For layers compressed with zstd, tar itself needs a program that may be missing.
 * @returns what tar prints @throws Error with what tar says
 */
export async function runTar(
  { path }: Pick<LayoutImage, 'path'>,
  { digest, mediaType }: Descriptor,
  options: readonly string[],
): Promise<Buffer> {
  const tar = spawn('tar', ['--file', '-', ...options], { stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    tar.once('error', reject);
    tar.once('close', resolve);
  });
  const plain = mediaType.endsWith('zstd') ? createZstdDecompress() : createGunzip();
  const [code, found, told] = await Promise.all([
    ended,
    buffer(tar.stdout),
    text(tar.stderr),
    pipeline(createReadStream(path(digest)), plain, tar.stdin),
  ]);
  if (code !== 0) throw new Error(`tar cannot read ${digest}: ${told.trim()}`);
  return found;
}
