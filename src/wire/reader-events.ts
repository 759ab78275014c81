/** One event of a stream. */
export interface StreamEvent {
  /** `message` where the stream names none. */
  event: string;
  data: string;
  /** The last id that the stream has given so far. */
  id: string | null;
}

/** Characters of one event: far more than any of svc's has. */
const eventLimit = 4 * 1024 * 1024;

/** To open the stream again would bring the same event again. */
export class EndlessEvent extends Error {
  override readonly name = 'EndlessEvent';

  constructor() {
    super('an event of the stream is too large');
  }
}

/**
 * Reads an event stream as the HTML standard has it, as far as svc uses it; gives null for a comment, so that who waits
 * sees that somebody is there. @throws what the stream throws, and EndlessEvent
 */
export async function* readEvents(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<StreamEvent | null, void, void> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let rest = '';
  /** It ends with a `\r`, which may be half a line break. */
  let isHalf = false;
  /** Of the whole lines of an event that is not whole itself. */
  let size = 0;
  let pending: { event: string; data: string[] } = { event: '', data: [] };
  let id: string | null = null;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      // What is not ended by an empty line when the stream ends is half an event, and does not count.
      if (done) return;
      const piece = decoder.decode(value, { stream: true });
      // A long line is looked through once, however many pieces it comes in.
      const lines = isHalf || /[\r\n]/.test(piece) ? (rest + piece).split(/\r\n|\n|\r(?!$)/) : [rest + piece];
      rest = lines.pop() ?? '';
      isHalf = piece === '' ? isHalf : piece.endsWith('\r');
      for (const line of lines) {
        size += line.length;
        if (size > eventLimit) throw new EndlessEvent();
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
      if (size + rest.length > eventLimit) throw new EndlessEvent();
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
