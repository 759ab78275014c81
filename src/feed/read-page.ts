import { readResponseText } from '../wire/read-response.ts';
import { FeedError, PageTooLargeError } from './feed-error.ts';
import type { FeedOptions } from './follow-redirects.ts';
import { findNextPageUrl } from './forge.ts';
import { requestFromFeed, requireOkStatus } from './request-from-feed.ts';

export interface FeedPage {
  /** Parsed JSON. */
  content: unknown;
  /** Headers that make the next request for the page conditional (RFC 9110, 13.1). */
  validators: Readonly<Record<string, string>>;
  /** Address of the next page on the same origin; null for the last page. */
  next: URL | null;
}

/**
 * Reads a page; null if the page has not changed since the validators were received.
 * @throws PageTooLargeError, another FeedError, or any error from fetch
 */
export async function readFeedPage(
  url: URL,
  feed: FeedOptions,
  validators: FeedPage['validators'] | null,
  signal: AbortSignal,
): Promise<FeedPage | null> {
  const headers = { accept: 'application/json', ...validators };
  return requestFromFeed(url, { feed, headers, signal }, async ({ response, address }) => {
    if (response.status === 304 && validators) return null;
    requireOkStatus(response);
    const text = await readResponseText(response);
    if (text === null) throw new PageTooLargeError('a page is larger than 8 MiB');
    return {
      content: parse(text),
      validators: validatorsOf(response.headers),
      next: findNextPageUrl(response.headers, { asked: url, answered: address }),
    };
  });
}

function validatorsOf(headers: Headers): FeedPage['validators'] {
  const [etag, lastModified] = [headers.get('etag'), headers.get('last-modified')];
  if (etag) return { 'if-none-match': etag };
  return lastModified ? { 'if-modified-since': lastModified } : {};
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FeedError('the response is not valid JSON');
  }
}
