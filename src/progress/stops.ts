/** A signal ended the run before it could change anything, or everything was put back. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';

  constructor() {
    super('cancelled by a signal');
  }
}
