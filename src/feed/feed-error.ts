/** Why a check failed, in words for the log: nothing of the request, which may hold a token, is in them. */
export class FeedError extends Error {
  override readonly name: string = 'FeedError';
  /** Milliseconds for which the feed wants no request; null where it did not say. */
  readonly wait: number | null;
  /** Of an answer that was none of the expected. */
  readonly status: number | null;

  constructor(message: string, facts: { wait?: number | null; status?: number } = {}) {
    super(message);
    this.wait = facts.wait ?? null;
    this.status = facts.status ?? null;
  }
}

/** A page that is not read to its end. With fewer releases in it, it may be. */
export class PageTooLarge extends FeedError {
  override readonly name = 'PageTooLarge';
}

/** What was thrown, as half a sentence: fetch says "fetch failed", and its innermost cause says why. */
export function reasonOf(error: unknown): string {
  let inner = error;
  for (let depth = 0; depth < 8 && inner instanceof Error; depth++) {
    // There is one error for each address that was tried; the first says enough.
    const next: unknown = inner instanceof AggregateError ? inner.errors[0] : inner.cause;
    if (!(next instanceof Error)) break;
    inner = next;
  }
  if (!(inner instanceof Error)) return 'unknown error';
  return (inner.message || inner.name).replace(/\s+/g, ' ').slice(0, 200);
}
