import type { PinTag } from '../../release/pin-tag.ts';
import type { SourceMappedText } from '../source-map.ts';
import type { ImageReference } from './image-reference.ts';

/** The image reference of a service, and the location that sets its tag. */
export interface Pin {
  service: string;
  reference: ImageReference;
  /** Complete image reference, with variables resolved. */
  referenceText: string;
  /** Tag of the image; `latest` if the image has no tag. */
  tag: PinTag;
  location: PinLocation;
  /** Image reference with the origin of each character. */
  resolved: SourceMappedText;
}

/** Lists the locations of the tags, for users who change them manually. */
export const formatTagLocations = (pins: readonly Pin[]): string =>
  [...new Set(pins.map(({ location }) => location.description))].join(', ');

/** Explains how to apply a tag that was set manually. */
export const formatApplyTagAdvice = ({ location }: Pin): string =>
  location.kind === 'stack' ? 'then deploy the stack' : 'then run {compose} pull && {up}';

export interface PinLocation {
  /** Source of the tag: image text, variable value, variable default, no tag, or Swarm service. */
  kind: 'literal' | 'variable' | 'default' | 'absent' | 'stack';
  /** Path of the file that contains the tag. */
  file: string;
  variable?: string;
  /** Location as shown to users: `SVC_VERSION in .env line 4`, `image of app in compose.yaml line 3`. */
  description: string;
}
