import { readResponseText } from '../read-response.ts';
import { type Problem, parseProblem } from './parse-responses.ts';

export type NoResponseReason =
  /** The connection failed or was interrupted. `cause` is the error from `fetch`. */
  | { what: 'nothing'; cause: unknown }
  /** There was no response before the timeout. */
  | { what: 'late' }
  /** The response is larger than 8 MiB. */
  | { what: 'large' }
  /** Another program responded, for example a proxy with an error page. */
  | { what: 'other'; status: number; type: string };

export type RequestResult<T> =
  | { kind: 'ok'; value: T }
  /** Error response from the server. */
  | { kind: 'problem'; problem: Problem }
  /**
   * Status 401, or a redirect to a login page. `location` is the page's address; it is null in browsers. `inFront` is
   * the login scheme of the proxy that sent the 401; it is null if the server sent the 401.
   */
  | { kind: 'logged-out'; status: number; location: string | null; inFront: string | null }
  | { kind: 'none'; why: NoResponseReason };

export type FailedResult = Exclude<RequestResult<unknown>, { kind: 'ok' }>;

export const createNoResponseResult = (why: NoResponseReason): FailedResult => ({ kind: 'none', why });

const mediaType = (response: Response): string =>
  (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

/** Returns null if the response succeeded and has an expected type. */
export async function findResponseFailure(
  response: Response,
  expected: readonly string[],
): Promise<FailedResult | null> {
  const { status } = response;
  const type = mediaType(response);
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400) || status === 401) {
    // An unread body would keep the connection open.
    await response.body?.cancel().catch(() => {});
    const inFront =
      status === 401 && type !== 'application/problem+json' ? findProxyLoginScheme(response) : null;
    return { kind: 'logged-out', status, location: response.headers.get('location'), inFront };
  }
  if (!response.ok && type === 'application/problem+json') {
    const body = await readResponseJson(response);
    return 'why' in body
      ? createNoResponseResult(body.why)
      : { kind: 'problem', problem: parseProblem(body.value, status) };
  }
  if (response.ok && expected.includes(type)) return null;
  // Another program, such as a proxy, has responded: the server's own errors have the type problem+json.
  await response.body?.cancel().catch(() => {});
  return createNoResponseResult({ what: 'other', status, type });
}

/** Returns the login scheme of a proxy, such as `Basic`, from the header `WWW-Authenticate`. */
const findProxyLoginScheme = ({ headers }: Response): string | null =>
  /^\s*(basic|digest|negotiate|ntlm)\b/i.exec(headers.get('www-authenticate') ?? '')?.[1] ?? null;

export async function readResponseJson(
  response: Response,
): Promise<{ value: unknown } | { why: NoResponseReason }> {
  let body: string | null;
  try {
    body = await readResponseText(response);
  } catch (cause) {
    return { why: { what: 'nothing', cause } };
  }
  if (body === null) return { why: { what: 'large' } };
  try {
    return { value: JSON.parse(body) };
  } catch {
    return { why: { what: 'other', status: response.status, type: mediaType(response) } };
  }
}
