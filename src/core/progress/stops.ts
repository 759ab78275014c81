/** A signal cancelled the run before it changed anything, or after all changes were undone. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';

  constructor() {
    super('cancelled by a signal');
  }
}

/** The engine is shutting down, which ends this run. The journal records the unfinished update. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor() {
    super('the engine is shutting down');
  }
}
