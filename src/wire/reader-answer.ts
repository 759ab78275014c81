import { readText } from './read-text.ts';
import { type Problem, readProblem } from './reader-shapes.ts';

/** Why something is no answer of svc's. */
export type NoAnswer =
  /** Nothing came: no connection, or it broke. `cause` is what `fetch` threw. */
  | { what: 'nothing'; cause: unknown }
  /** Nothing came in time. */
  | { what: 'late' }
  /** It is larger than whatever svc says: 8 MiB. */
  | { what: 'large' }
  /** Something else answers: a proxy's error, a page. */
  | { what: 'other'; status: number; type: string };

/** What came of a request. */
export type Answer<T> =
  | { kind: 'ok'; value: T }
  /** svc's own error. */
  | { kind: 'problem'; problem: Problem }
  /**
   * 401, or a redirect: to where, where that can be told (a browser does not). `inFront` is the login that something in
   * front of svc wants, as its name in `WWW-Authenticate`; null where it is svc's own 401, or nobody knows whose it is.
   */
  | { kind: 'logged-out'; status: number; location: string | null; inFront: string | null }
  | { kind: 'none'; why: NoAnswer };

export type Refused = Exclude<Answer<unknown>, { kind: 'ok' }>;

export const noAnswer = (why: NoAnswer): Refused => ({ kind: 'none', why });

const mediaType = (response: Response): string =>
  (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

/**
 * What a response says that is no success of the type that was asked for; null where it is one. Only svc's own types
 * count: whatever else there is in front of svc or in its place answers with a page, or with an error that is no
 * problem+json. The body of what does not count is let go.
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

/** The login that a proxy in front of svc asks for, such as `Basic`: svc's own 401 names none. */
const loginOf = ({ headers }: Response): string | null =>
  /^\s*(basic|digest|negotiate|ntlm)\b/i.exec(headers.get('www-authenticate') ?? '')?.[1] ?? null;

/** The body of a response, as far as it came. */
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

/** Half an answer that nobody reads would keep its connection. */
export const drop = async (response: Response): Promise<void> => {
  await response.body?.cancel().catch(() => {});
};
