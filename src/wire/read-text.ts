/** Maximum size of a response in bytes. */
const limit = 8 * 1024 * 1024;

/**
 * The text of a response; null if it is larger than 8 MiB. Bytes are counted after decompression, because Content-Length
 * and the compressed size cannot be trusted. @throws the errors of the stream
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
      // Not awaited, because it may take long.
      reader.cancel().catch(() => {});
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}
