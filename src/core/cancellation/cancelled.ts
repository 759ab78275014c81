/** A signal cancelled the run. The run had changed nothing, or all its changes were undone. */
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
