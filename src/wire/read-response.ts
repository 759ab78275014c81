/** Default limit in bytes. */
const usualLimit = 8 * 1024 * 1024;

/** Returns null if the response is larger than 8 MiB. @throws errors of the stream */
export async function readResponseText(response: Pick<Response, 'body'>): Promise<string | null> {
  const bytes = await readResponseBytes(response);
  return bytes && new TextDecoder().decode(bytes);
}

/** Returns null if the response is larger than the limit. @throws errors of the stream */
export async function readResponseBytes(
  { body }: Pick<Response, 'body'>,
  limit = usualLimit,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (body === null) return new Uint8Array();
  const reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> = body.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    // Count bytes after decompression, because Content-Length and the compressed size cannot be trusted.
    size += value.byteLength;
    if (size > limit) {
      // The cancellation is not awaited, because it may take a long time.
      reader.cancel().catch(() => {});
      return null;
    }
    chunks.push(value);
  }
}
