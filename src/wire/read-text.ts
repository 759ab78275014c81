/** Bytes of an answer that are read. */
const limit = 8 * 1024 * 1024;

/**
 * The text of an answer; null where it is larger than 8 MiB, and then no more of it is read. What counts are bytes after
 * decompression, as they arrive: neither a length nor a short gzip is believed. @throws whatever the stream throws
 */
export async function readText({ body }: Pick<Response, 'body'>): Promise<string | null> {
  if (body === null) return '';
  const decoder = new TextDecoder();
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  let text = '';
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > limit) {
      // Not awaited: its sender may take its time.
      reader.cancel().catch(() => {});
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}
