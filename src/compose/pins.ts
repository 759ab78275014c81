export { findPin } from './find-pin.ts';
export type { Pin, PinPlace } from './pin.ts';
export { type PinMove, pinEdits } from './pin-edits.ts';
