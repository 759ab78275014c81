/**
 * Failure of a request to the feed. The message quotes nothing from the request, because the request may include a
 * token.
 */
export class FeedError extends Error {
  override readonly name: string = 'FeedError';
  /** Milliseconds during which the server allows no requests; null if this time is unknown. */
  readonly wait: number | null;
  /** HTTP status of an unexpected response; null for other errors. */
  readonly status: number | null;

  constructor(message: string, facts: { wait?: number | null; status?: number } = {}) {
    super(message);
    this.wait = facts.wait ?? null;
    this.status = facts.status ?? null;
  }
}

/** The page exceeds the size limit. A request for a smaller page may succeed. */
export class PageTooLargeError extends FeedError {
  override readonly name = 'PageTooLargeError';
}

/** Returns the message of the innermost cause, because the message of fetch's own error does not contain the reason. */
export function innermostErrorMessageOf(error: unknown): string {
  let inner = error;
  for (let depth = 0; depth < 8 && inner instanceof Error; depth++) {
    // An AggregateError contains one error for each address that was tried; the first error is sufficient.
    const next: unknown = inner instanceof AggregateError ? inner.errors[0] : inner.cause;
    if (!(next instanceof Error)) break;
    inner = next;
  }
  if (!(inner instanceof Error)) return 'unknown error';
  return (inner.message || inner.name).replace(/\s+/g, ' ').slice(0, 200);
}
