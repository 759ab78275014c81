export interface StreamEvent {
  /** Type of the event; `message` by default. */
  event: string;
  data: string;
  /** Id of the last event that had an id; null if no event had an id. */
  id: string | null;
}

/** Maximum size of an event in characters, far more than the server sends. */
const eventLimit = 4 * 1024 * 1024;

/** An event is too large. Reconnecting does not help, because the stream would send the event again. */
export class OversizedEventError extends Error {
  override readonly name = 'OversizedEventError';

  constructor() {
    super('an event of the stream is too large');
  }
}

/**
 * Reads an event stream (HTML standard). Ignores fields that the server does not send. Yields null for a comment, which
 * tells the caller that the server is alive.
 * @throws OversizedEventError, or errors of the stream
 */
export async function* readEventStream(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<StreamEvent | null, void, void> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let rest = '';
  /** Whether `rest` ends with a `\r`, which may be the first half of a line break. */
  let isHalf = false;
  /** Number of characters in the complete lines of the current event. */
  let size = 0;
  let pending: { event: string; data: string[] } = { event: '', data: [] };
  let id: string | null = null;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      // An event without a final empty line is incomplete and ignored.
      if (done) return;
      const chunk = decoder.decode(value, { stream: true });
      // Only append a chunk without a line break, because rescanning a long line is slow.
      const lines = isHalf || /[\r\n]/.test(chunk) ? (rest + chunk).split(/\r\n|\n|\r(?!$)/) : [rest + chunk];
      rest = lines.pop() ?? '';
      isHalf = chunk === '' ? isHalf : chunk.endsWith('\r');
      for (const line of lines) {
        size += line.length;
        if (size > eventLimit) throw new OversizedEventError();
        if (line === '') {
          if (pending.data.length > 0)
            yield { event: pending.event || 'message', data: pending.data.join('\n'), id };
          pending = { event: '', data: [] };
          size = 0;
          continue;
        }
        const [, field = '', content = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
        if (field === '') yield null;
        else if (field === 'event') pending.event = content;
        else if (field === 'data') pending.data.push(content);
        else if (field === 'id' && !content.includes('\0')) id = content;
      }
      if (size + rest.length > eventLimit) throw new OversizedEventError();
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
