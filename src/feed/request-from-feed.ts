import { FeedError } from './feed-error.ts';
import { type FeedRequestOptions, followRedirects } from './follow-redirects.ts';
import { findRetryAfterMs } from './retry-after.ts';

const second = 1000;

/** Default deadline for a complete response, in milliseconds. */
const usualDeadline = 10 * second;

/**
 * Requests an address and reads the response. The deadline includes redirects and the body. The connection is closed
 * afterwards.
 * @throws FeedError, or any error from fetch or from `read`
 */
export async function requestFromFeed<T>(
  url: URL,
  { signal, ...following }: FeedRequestOptions,
  read: (response: { response: Response; address: URL }) => Promise<T>,
  deadline = usualDeadline,
): Promise<T> {
  const outcome = new AbortController();
  const late = new FeedError(`no complete response within ${deadline / second} s`);
  const timer = setTimeout(() => outcome.abort(late), deadline);
  timer.unref();
  try {
    return await read(
      await followRedirects(url, { ...following, signal: AbortSignal.any([signal, outcome.signal]) }),
    );
  } catch (error) {
    throw outcome.signal.aborted ? late : error;
  } finally {
    outcome.abort();
    clearTimeout(timer);
  }
}

/** @throws FeedError if the status is not 200 */
export function requireOkStatus(response: Response): void {
  const { status } = response;
  if (status !== 200)
    throw new FeedError(`the response has status ${status}`, { status, wait: findRetryAfterMs(response) });
}
