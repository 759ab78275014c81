import { readText } from '../wire/read-text.ts';
import { FeedError, PageTooLarge } from './feed-error.ts';
import { waitAfter } from './feed-limit.ts';
import type { FeedOptions } from './feed-options.ts';
import { follow, headersOf, withoutLogin } from './follow.ts';
import { nextPage } from './forge.ts';

const deadline = 10_000;

/** What a page's next request is made conditional with (RFC 9110, 13.1). */
export interface Validators {
  etag: string | null;
  lastModified: string | null;
}

export interface Page {
  /** Parsed JSON. */
  content: unknown;
  validators: Validators;
  /** The page after it, on the same origin; null for the last one. */
  next: URL | null;
}

/**
 * Reads one page within ten seconds, redirects and body included; null where it has not changed since `known`.
 * What is not read of an answer is dropped with its connection.
 * @throws PageTooLarge, another FeedError, or whatever fetch throws
 */
export async function readPage(
  url: URL,
  feed: FeedOptions,
  known: Validators | null,
  signal: AbortSignal,
): Promise<Page | null> {
  const controller = new AbortController();
  const late = new FeedError(`no whole answer within ${deadline / 1000} s`);
  const timer = setTimeout(() => controller.abort(late), deadline);
  timer.unref();
  const stop = () => controller.abort();
  signal.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    const { response, address } = await follow(url, {
      headersFor: (at) => headersFor(at, feed, known),
      feed: feed.url,
      signal: controller.signal,
    });
    if (response.status === 304 && known) return null;
    if (response.status !== 200) {
      const { status } = response;
      throw new FeedError(`it answers ${status}`, { status, wait: waitAfter(response) });
    }
    const next = nextPage(response.headers, { asked: url, answered: address });
    const text = await readText(response);
    if (text === null) throw new PageTooLarge('a page is larger than 8 MiB');
    return {
      content: parse(text),
      validators: {
        etag: response.headers.get('etag'),
        lastModified: response.headers.get('last-modified'),
      },
      next: next && withoutLogin(next),
    };
  } catch (error) {
    controller.abort();
    throw controller.signal.reason === late ? late : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

function headersFor(address: URL, feed: FeedOptions, known: Validators | null): Headers {
  const headers = headersOf(address, feed);
  if (!headers.has('accept')) headers.set('accept', 'application/json');
  if (known?.etag) headers.set('if-none-match', known.etag);
  else if (known?.lastModified) headers.set('if-modified-since', known.lastModified);
  return headers;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FeedError('the answer is no JSON');
  }
}
