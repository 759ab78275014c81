const second = 1000;
const longestWait = 24 * 60 * 60 * second;
/** Waiting time in milliseconds that GitHub recommends if a 429 response specifies no time. */
const unnamedWait = 60 * second;

/**
 * Returns for how many milliseconds a response forbids further requests, at most a day; null if it forbids none. Reads
 * Retry-After (RFC 9110) and the headers of GitHub, Gitea and GitLab.
 */
export function findRetryAfterMs({ status, headers }: Pick<Response, 'status' | 'headers'>): number | null {
  if (status !== 403 && status !== 429 && status !== 503) return null;
  // Use the server's clock, because this machine's clock may be wrong.
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
