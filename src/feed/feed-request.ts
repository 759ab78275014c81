import { FeedError, PageTooLarge } from './feed-error.ts';
import { waitAfter } from './feed-limit.ts';
import type { FeedOptions } from './feed-options.ts';
import { nextPage } from './forge.ts';

const deadline = 10_000;
const largestPage = 8 * 1024 * 1024;
const mostRedirects = 5;

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
    const { response, address } = await follow(url, feed, known, controller.signal);
    if (response.status === 304 && known) return null;
    if (response.status !== 200) {
      const { status } = response;
      throw new FeedError(`it answers ${status}`, { status, wait: waitAfter(response) });
    }
    const next = nextPage(response.headers, { asked: url, answered: address });
    return {
      content: parse(await readBody(response)),
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

/** By hand, as fetch takes only Authorization away from another origin, and a token may be in any of the headers. */
async function follow(url: URL, feed: FeedOptions, known: Validators | null, signal: AbortSignal) {
  let address = withoutLogin(url);
  for (let hop = 0; hop <= mostRedirects; hop++) {
    const headers = headersFor(address, feed, known);
    const response = await fetch(address, { headers, redirect: 'manual', signal });
    const location = response.headers.get('location');
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null)
      return { response, address };
    await response.body?.cancel();
    const target = URL.parse(location, address.href);
    if (!target || !/^https?:$/.test(target.protocol))
      throw new FeedError('it redirects to what is no web address');
    address = withoutLogin(target);
  }
  throw new FeedError(`it redirects more than ${mostRedirects} times`);
}

function headersFor(url: URL, feed: FeedOptions, known: Validators | null): Headers {
  const headers = new Headers({ accept: 'application/json', 'user-agent': 'svc-updater' });
  const home = new URL(feed.url);
  if (url.origin === home.origin) {
    try {
      if (home.username || home.password) headers.set('authorization', basic(home));
      for (const [name, value] of Object.entries(feed.headers ?? {})) headers.set(name, value);
    } catch {
      // The thrown error quotes the value, which may be a token: it is not passed on.
      throw new FeedError('its headers or its login cannot be sent as they are written');
    }
  }
  if (known?.etag) headers.set('if-none-match', known.etag);
  else if (known?.lastModified) headers.set('if-modified-since', known.lastModified);
  return headers;
}

/** In bytes after decompression, as they arrive: neither a length nor a short gzip is believed. */
async function readBody(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > largestPage) throw new PageTooLarge('a page is larger than 8 MiB');
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FeedError('the answer is no JSON');
  }
}

/** fetch takes no login in an address, and quotes the whole of it when it says so. */
function withoutLogin(url: URL): URL {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  return bare;
}

const basic = ({ username, password }: URL): string =>
  `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`;
