import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** The sha256 of a file's bytes, 64 hex digits. @param onBytes told how many were read by now */
export async function sumOfFile(
  path: string,
  { signal, onBytes = () => {} }: { signal?: AbortSignal; onBytes?: (bytes: number) => void } = {},
): Promise<string> {
  const hash = createHash('sha256');
  const stream = createReadStream(path, { highWaterMark: 1024 * 1024, ...(signal && { signal }) });
  for await (const chunk of stream) {
    hash.update(chunk);
    onBytes(stream.bytesRead);
  }
  return hash.digest('hex');
}
