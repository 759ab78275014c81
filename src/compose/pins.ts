export { findPin, sharesPin } from './find-pin.ts';
export type { Pin, PinPlace } from './pin.ts';
export { movedReference, type PinMove, pinEdits } from './pin-edits.ts';
