/** A signal ended the run before it could change anything, or everything was put back. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';

  constructor() {
    super('cancelled by a signal');
  }
}

/** The engine is shutting down and takes this run with it: what was begun stands in the journal. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor() {
    super('the engine is shutting down');
  }
}
