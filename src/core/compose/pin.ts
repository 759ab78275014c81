import type { PinTag } from '../release/pin-tag.ts';
import type { Reference } from './reference.ts';
import type { TracedText } from './traced.ts';

/** What decides the tag of a service's image today. */
export interface Pin {
  service: string;
  reference: Reference;
  /** The whole image reference, as compose resolves it. */
  referenceText: string;
  /** An image without a tag counts as `latest`. */
  tag: PinTag;
  place: PinPlace;
  /** The reference, and where each character of it is written. */
  resolved: TracedText;
}

/** All places where these tags are written, for people who change them manually. */
export const placesOf = (pins: readonly Pin[]): string =>
  [...new Set(pins.map(({ place }) => place.description))].join(', ');

/** How a tag takes effect that was set manually. */
export const applyAdvice = ({ place }: Pin): string =>
  place.kind === 'stack' ? 'then deploy the stack' : 'then run {compose} pull && {up}';

export interface PinPlace {
  /** Written in the image, in a variable's value, in a variable's default, not at all, or only known from a Swarm service. */
  kind: 'literal' | 'variable' | 'default' | 'absent' | 'stack';
  /** The path of the file. */
  file: string;
  variable?: string;
  /** For people: `SVC_VERSION in .env line 4`, `image of app in compose.yaml line 3`. */
  description: string;
}
