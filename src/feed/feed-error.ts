/** What is known of a failure besides its words. */
interface FailureFacts {
  /** Milliseconds for which the feed wants no request; null where it did not say. */
  wait?: number | null;
  /** Of an answer that was none of the expected. */
  status?: number;
}

/** Why a check failed, in words for the log: nothing of the request, which may hold a token, is in them. */
export class FeedError extends Error {
  override readonly name: string = 'FeedError';
  readonly wait: number | null;
  readonly status: number | null;

  constructor(message: string, { wait = null, status }: FailureFacts = {}) {
    super(message);
    this.wait = wait;
    this.status = status ?? null;
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
  if (!(inner instanceof Error)) return 'it failed';
  return (inner.message || inner.name).replace(/\s+/g, ' ').slice(0, 200);
}
