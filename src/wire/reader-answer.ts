import { readText } from './read-text.ts';
import { type Problem, readProblem } from './reader-shapes.ts';

/** Why a response does not come from svc. */
export type NoAnswer =
  /** No response: no connection, or it broke. `cause` is the error of `fetch`. */
  | { what: 'nothing'; cause: unknown }
  /** No response in time. */
  | { what: 'late' }
  /** The response is larger than 8 MiB. */
  | { what: 'large' }
  /** Another program responded, for example with a proxy error or a page. */
  | { what: 'other'; status: number; type: string };

/** The result of a request. */
export type Answer<T> =
  | { kind: 'ok'; value: T }
  /** An error of svc. */
  | { kind: 'problem'; problem: Problem }
  /**
   * 401, or a redirect. `location` is its target, which browsers do not reveal. `inFront` is the login scheme of a proxy in
   * front of svc, from `WWW-Authenticate`; null for a 401 of svc or of unknown origin.
   */
  | { kind: 'logged-out'; status: number; location: string | null; inFront: string | null }
  | { kind: 'none'; why: NoAnswer };

export type Refused = Exclude<Answer<unknown>, { kind: 'ok' }>;

export const noAnswer = (why: NoAnswer): Refused => ({ kind: 'none', why });

const mediaType = (response: Response): string =>
  (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

/**
 * Why a response is not a success of the expected type; null if it is. Other programs respond with a page, or with an error
 * that is not problem+json. The bodies of their responses are discarded.
 */
export async function refusalIn(response: Response, expected: readonly string[]): Promise<Refused | null> {
  const { status } = response;
  const type = mediaType(response);
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400) || status === 401) {
    await drop(response);
    const inFront = status === 401 && type !== 'application/problem+json' ? loginOf(response) : null;
    return { kind: 'logged-out', status, location: response.headers.get('location'), inFront };
  }
  if (!response.ok && type === 'application/problem+json') {
    const body = await readJson(response);
    return 'why' in body ? noAnswer(body.why) : { kind: 'problem', problem: readProblem(body.value, status) };
  }
  if (response.ok && expected.includes(type)) return null;
  await drop(response);
  return noAnswer({ what: 'other', status, type });
}

/** The login scheme of a proxy in front of svc, such as `Basic`. A 401 of svc has none. */
const loginOf = ({ headers }: Response): string | null =>
  /^\s*(basic|digest|negotiate|ntlm)\b/i.exec(headers.get('www-authenticate') ?? '')?.[1] ?? null;

/** The parsed body of a response, or why it could not be read. */
export async function readJson(response: Response): Promise<{ value: unknown } | { why: NoAnswer }> {
  let body: string | null;
  try {
    body = await readText(response);
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

/** An unread body would keep the connection open. */
export const drop = async (response: Response): Promise<void> => {
  await response.body?.cancel().catch(() => {});
};
