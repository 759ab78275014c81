/** Error of a run that a signal cancelled before anything was changed, or after all changes were undone. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';

  constructor() {
    super('cancelled by a signal');
  }
}

/** Error of a run that ends because the engine is shutting down. The journal records the unfinished update. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor() {
    super('the engine is shutting down');
  }
}
