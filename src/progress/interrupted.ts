/** The engine is shutting down and takes this run with it: what was begun stands in the journal. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor() {
    super('the engine is shutting down');
  }
}
