import { readText } from '../wire/read-text.ts';
import { FeedError, PageTooLarge } from './feed-error.ts';
import { type FeedOptions, follow } from './follow.ts';
import { nextPage } from './forge.ts';

const second = 1000;
const deadline = 10 * second;

/** A page of a feed as it was sent. */
export interface Page {
  /** Parsed JSON. */
  content: unknown;
  /** What its next request is made conditional with (RFC 9110, 13.1), as headers of that request. */
  validators: Readonly<Record<string, string>>;
  /** The page after it, on the same origin; null for the last one. */
  next: URL | null;
}

/**
 * Reads one page within ten seconds, redirects and body included; null where it has not changed since it had the validators.
 * What is not read of an answer is dropped with its connection.
 * @throws PageTooLarge, another FeedError, or whatever fetch throws
 */
export async function readPage(
  url: URL,
  feed: FeedOptions,
  validators: Page['validators'] | null,
  signal: AbortSignal,
): Promise<Page | null> {
  const ending = new AbortController();
  const late = new FeedError(`no whole answer within ${deadline / second} s`);
  const timer = setTimeout(() => ending.abort(late), deadline);
  timer.unref();
  try {
    const { response, address } = await follow(url, {
      feed,
      headers: { accept: 'application/json', ...validators },
      signal: AbortSignal.any([signal, ending.signal]),
    });
    const { status, headers } = response;
    if (status === 304 && validators) return null;
    if (status !== 200) throw new FeedError(`it answers ${status}`, { status, wait: waitAfter(response) });
    const text = await readText(response);
    if (text === null) throw new PageTooLarge('a page is larger than 8 MiB');
    return {
      content: parse(text),
      validators: validatorsOf(headers),
      next: nextPage(headers, { asked: url, answered: address }),
    };
  } catch (error) {
    throw ending.signal.aborted ? late : error;
  } finally {
    ending.abort();
    clearTimeout(timer);
  }
}

function validatorsOf(headers: Headers): Page['validators'] {
  const [etag, lastModified] = [headers.get('etag'), headers.get('last-modified')];
  if (etag) return { 'if-none-match': etag };
  return lastModified ? { 'if-modified-since': lastModified } : {};
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FeedError('the answer is no JSON');
  }
}

const longestWait = 24 * 60 * 60 * second;
/** GitHub's advice where a 429 names no time. */
const unnamedWait = 60 * second;

/**
 * For how many milliseconds an answer forbids further requests, at most a day; null where it does not.
 * Retry-After is RFC 9110's; the others are as GitHub, Gitea and GitLab send them. A moment that is named is reckoned
 * from the answer's own Date: the clock of this machine may be wrong, and nothing is waited for by it.
 */
export function waitAfter({ status, headers }: Pick<Response, 'status' | 'headers'>): number | null {
  if (status !== 403 && status !== 429 && status !== 503) return null;
  const date = Date.parse(headers.get('date') ?? '');
  const sentAt = Number.isNaN(date) ? Date.now() : date;
  const wait =
    retryAfter(headers.get('retry-after'), sentAt) ?? (status === 503 ? null : untilReset(headers, sentAt));
  if (wait === null) return status === 429 ? unnamedWait : null;
  return Math.min(Math.max(wait, 0), longestWait);
}

function retryAfter(value: string | null, sentAt: number): number | null {
  const seconds = wholeSeconds(value);
  if (seconds !== null) return seconds * second;
  const date = Date.parse(value ?? '');
  return Number.isNaN(date) ? null : date - sentAt;
}

function untilReset(headers: Headers, sentAt: number): number | null {
  for (const prefix of ['x-ratelimit', 'ratelimit']) {
    const reset = wholeSeconds(headers.get(`${prefix}-reset`));
    if (headers.get(`${prefix}-remaining`)?.trim() === '0' && reset !== null) return reset * second - sentAt;
  }
  return null;
}

const wholeSeconds = (value: string | null): number | null =>
  value !== null && /^\s*\d{1,15}\s*$/.test(value) ? Number(value) : null;
