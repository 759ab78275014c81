import { FeedError } from './feed-error.ts';
import { type HostLookup, isInner } from './inner-host.ts';

/** The address of a release feed. */
export interface FeedOptions {
  /** The list of releases of GitHub, Gitea, Forgejo or GitLab, or a static JSON file. */
  url: string;
  /** Request headers, for example a token. Default: none. */
  headers?: Record<string, string>;
}

/** How an address is asked that a feed has named. */
export interface FeedRequest {
  feed: FeedOptions;
  /** Sent to every origin; those of the feed go before them. */
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** Default the system's. */
  lookup?: HostLookup | undefined;
}

const mostRedirects = 5;

/**
 * An answer that is no redirect, and the address that gave it. Redirects are followed by hand, as fetch takes only
 * Authorization away from another origin, and a token may be in any of the headers. No redirect leads from https to
 * http: anybody on the way could answer there. A feed out in the world leads nobody to this machine or its neighbours.
 * @throws FeedError, or whatever fetch throws
 */
export async function follow(
  url: URL,
  following: FeedRequest,
): Promise<{ response: Response; address: URL }> {
  const { signal } = following;
  let address = withoutLogin(url);
  for (let hop = 0; hop <= mostRedirects; hop++) {
    await expectOutside(address, following);
    const response = await fetch(address, {
      headers: headersFor(address, following),
      redirect: 'manual',
      signal,
    });
    const location = response.headers.get('location');
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null)
      return { response, address };
    await response.body?.cancel();
    const target = URL.parse(location, address.href);
    if (!target || !/^https?:$/.test(target.protocol))
      throw new FeedError('it redirects to an address that is neither http nor https');
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
async function expectOutside(address: URL, { feed, signal, lookup }: FeedRequest): Promise<void> {
  signal.throwIfAborted();
  const home = new URL(feed.url);
  if (address.hostname === home.hostname) return;
  // A resolver may take longer than whoever asks has time.
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const leadsIn = isInner(address, lookup).then(async (isIn) => isIn && !(await isInner(home, lookup)));
  if (await Promise.race([leadsIn, ended]))
    throw new FeedError(`it refers to ${address.host}, which is in a private network`);
}

/** Its own origin alone gets the login that the feed's address or its options hold. */
function headersFor(address: URL, { feed, headers: given }: FeedRequest): Headers {
  const headers = new Headers({ 'user-agent': 'svc-updater', ...given });
  const { origin, username, password } = new URL(feed.url);
  if (address.origin !== origin) return headers;
  try {
    if (username || password) headers.set('authorization', basic(username, password));
    for (const [name, value] of Object.entries(feed.headers ?? {})) headers.set(name, value);
  } catch {
    // The thrown error quotes the value, which may be a token: it is not passed on.
    throw new FeedError('the configured headers or login contain invalid characters');
  }
  return headers;
}

const basic = (...login: readonly string[]): string =>
  `Basic ${Buffer.from(login.map(decodeURIComponent).join(':')).toString('base64')}`;

/** fetch takes no login in an address, and quotes the whole of it when it says so. */
function withoutLogin(url: URL): URL {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  return bare;
}
