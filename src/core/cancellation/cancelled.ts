/** A signal cancelled the run. The run changed nothing, or all its changes were undone. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';

  constructor() {
    super('cancelled by a signal');
  }
}

/** An engine shutdown interrupted the run. The journal records the unfinished update. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor() {
    super('the engine is shutting down');
  }
}
