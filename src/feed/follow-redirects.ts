import { FeedError } from './feed-error.ts';
import { type HostLookup, isPrivateHost } from './private-host.ts';

/** Address of a release feed, and the headers for requests to it. */
export interface FeedOptions {
  /** Release list of GitHub, Gitea, Forgejo or GitLab, or a static JSON file. */
  url: string;
  /** Request headers, for example with a token. Default: none. */
  headers?: Record<string, string>;
}

/** Options for a request to the feed, or to an address in the feed. */
export interface FeedRequestOptions {
  feed: FeedOptions;
  /** Headers sent to every origin. The feed's own headers override them. */
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** Name resolver; by default, the resolver of the system. */
  lookup?: HostLookup | undefined;
}

const mostRedirects = 5;

/**
 * Follows redirects and returns the final response with its address. fetch must not follow redirects itself: at another
 * origin, it would omit only the Authorization header, but any header may contain a token.
 * @throws FeedError, or any error from fetch
 */
export async function followRedirects(
  url: URL,
  following: FeedRequestOptions,
): Promise<{ response: Response; address: URL }> {
  const { signal } = following;
  let address = removeCredentials(url);
  for (let hop = 0; hop <= mostRedirects; hop++) {
    await requirePublicHost(address, following);
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
    // Reject a redirect from https to http, because an attacker in the network could answer the http request.
    if (address.protocol === 'https:' && target.protocol === 'http:')
      throw new FeedError('it redirects from https to http');
    address = removeCredentials(target);
  }
  throw new FeedError(`it redirects more than ${mostRedirects} times`);
}

/**
 * Rejects a public feed's request to this machine or a private network. Addresses are resolved before the request,
 * because Node's fetch accepts no resolver that could check them. A change of addresses after the check is not detected
 * (SECURITY.md).
 */
async function requirePublicHost(address: URL, { feed, signal, lookup }: FeedRequestOptions): Promise<void> {
  signal.throwIfAborted();
  const deployment = new URL(feed.url);
  if (address.hostname === deployment.hostname) return;
  // End this check at the deadline, because the name resolver may take longer.
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const leadsIn = isPrivateHost(address, lookup).then(
    async (isIn) => isIn && !(await isPrivateHost(deployment, lookup)),
  );
  if (await Promise.race([leadsIn, ended]))
    throw new FeedError(`the feed refers to ${address.host}, which is in a private network`);
}

/** Credentials in the feed's address or options are sent only to the feed's origin. */
function headersFor(address: URL, { feed, headers: given }: FeedRequestOptions): Headers {
  const headers = new Headers({ 'user-agent': 'svc-updater', ...given });
  const { origin, username, password } = new URL(feed.url);
  if (address.origin !== origin) return headers;
  try {
    if (username || password) headers.set('authorization', basic(username, password));
    for (const [name, value] of Object.entries(feed.headers ?? {})) headers.set(name, value);
  } catch {
    // Do not pass on the error: it quotes the value, which may be a token.
    throw new FeedError('the configured headers or credentials contain invalid characters');
  }
  return headers;
}

const basic = (...login: readonly string[]): string =>
  `Basic ${Buffer.from(login.map(decodeURIComponent).join(':')).toString('base64')}`;

/** Removes the credentials from an address, because fetch would reject the address with an error that quotes it. */
function removeCredentials(url: URL): URL {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  return bare;
}
