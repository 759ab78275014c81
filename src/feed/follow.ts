import { FeedError } from './feed-error.ts';
import type { FeedOptions } from './feed-options.ts';
import { isInner, type Lookup } from './inner-host.ts';

const mostRedirects = 5;

/** What is sent to an address, which need not be on the origin that was asked first. */
export type HeadersFor = (address: URL) => Headers;

/** How an address is asked, and what it was led to by. */
export interface Following {
  headersFor: HeadersFor;
  /** The address of the feed. */
  feed: string;
  signal: AbortSignal;
  /** Default the system's. */
  lookup?: Lookup | undefined;
}

/**
 * An answer that is no redirect, and the address that gave it. Redirects are followed by hand, as fetch takes only
 * Authorization away from another origin, and a token may be in any of the headers. No redirect leads from https to
 * http: anybody on the way could answer there. A feed out in the world leads nobody to this machine or its neighbours.
 * @throws FeedError, or whatever fetch throws
 */
export async function follow(
  url: URL,
  { headersFor, feed, signal, lookup }: Following,
): Promise<{ response: Response; address: URL }> {
  let address = withoutLogin(url);
  for (let hop = 0; hop <= mostRedirects; hop++) {
    await expectOutside(address, { home: new URL(feed), signal, lookup });
    const response = await fetch(address, { headers: headersFor(address), redirect: 'manual', signal });
    const location = response.headers.get('location');
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null)
      return { response, address };
    await response.body?.cancel();
    const target = URL.parse(location, address.href);
    if (!target || !/^https?:$/.test(target.protocol))
      throw new FeedError('it redirects to what is no web address');
    if (address.protocol === 'https:' && target.protocol === 'http:')
      throw new FeedError('it redirects from https to http');
    address = withoutLogin(target);
  }
  throw new FeedError(`it redirects more than ${mostRedirects} times`);
}

/**
 * Looked at before it is asked, as Node's fetch takes no resolver: a name whose addresses change in this very moment gets
 * through (SECURITY.md).
 */
async function expectOutside(
  address: URL,
  { home, signal, lookup }: { home: URL; signal: AbortSignal; lookup: Lookup | undefined },
): Promise<void> {
  if (address.hostname === home.hostname) return;
  // A resolver may take longer than whoever asks has time.
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const leadsIn = isInner(address, lookup).then(async (isIn) => isIn && !(await isInner(home, lookup)));
  if (await Promise.race([leadsIn, ended]))
    throw new FeedError(`it leads to ${address.host}, which is in a private network`);
}

/** Who asks, and the login that the feed's address or its options hold, which only its own origin gets. */
export function headersOf(address: URL, feed: FeedOptions): Headers {
  const headers = new Headers({ 'user-agent': 'svc-updater' });
  const home = new URL(feed.url);
  if (address.origin !== home.origin) return headers;
  try {
    if (home.username || home.password) headers.set('authorization', basic(home));
    for (const [name, value] of Object.entries(feed.headers ?? {})) headers.set(name, value);
  } catch {
    // The thrown error quotes the value, which may be a token: it is not passed on.
    throw new FeedError('its headers or its login cannot be sent as they are written');
  }
  return headers;
}

/** fetch takes no login in an address, and quotes the whole of it when it says so. */
export function withoutLogin(url: URL): URL {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  return bare;
}

const basic = ({ username, password }: URL): string =>
  `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`;
