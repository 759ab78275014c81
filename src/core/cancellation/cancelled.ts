/** A signal cancelled the run, which had changed nothing or has undone all its changes. */
export class CancelledError extends Error {
  override readonly name = 'CancelledError';

  constructor() {
    super('cancelled by a signal');
  }
}

/** An engine shutdown interrupted the run. The journal records the unfinished update. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';

  constructor() {
    super('the engine is shutting down');
  }
}
