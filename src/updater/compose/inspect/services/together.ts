import { isOnePin, pinOrNull } from '../../../../core/compose/find-pin.ts';
import type { Pin } from '../../../../core/compose/pin.ts';
import type { ProjectFiles } from '../../../../core/compose/project-files.ts';
import {
  formatReference,
  isDatabase,
  isOnePublisher,
  isOneRepository,
  parseReference,
  publisherOf,
  type Reference,
} from '../../../../core/compose/reference.ts';
import { statedVersion } from '../../../../core/release/pin-tag.ts';
import type { Model } from '../../../../engine/cli/compose.ts';

/** A service with the image that compose gives it, and where that is written. */
export interface ServiceImage {
  name: string;
  reference: Reference;
  /** Null where it cannot be read, or not be moved. */
  pin: Pin | null;
}

/** Those of the model that name an image. Most pins are never asked for: the images alone tell that a service is of others. */
export function imagesOf(files: ProjectFiles, { services }: Model): ServiceImage[] {
  return Object.entries(services).flatMap(([name, { image }]) => {
    const reference = parseReference(image ?? '');
    if (reference === null) return [];
    let known: Pin | null = null;
    return {
      name,
      reference,
      get pin() {
        known ??= pinOrNull(files, name);
        return known;
      },
    };
  });
}

/** What makes a service one with the app, in words; null where nothing does, and for every database. */
export function bondOf(app: ServiceImage, other: ServiceImage): string | null {
  if (isDatabase(other.reference)) return null;
  const { repository } = app.reference;
  if (isOneRepository(app.reference, other.reference)) return `same repository: ${repository}`;
  if (!isOnePublisher(app.reference, other.reference)) return null;
  if (sharesPin(app, other)) return `same pin: ${other.pin?.place.description}`;
  // A publisher of many products has them all at `latest`, or at `2`: only a whole version tells of one release.
  return isExact(other.reference) && isOneVersion(app, other)
    ? `same publisher and version: ${publisherOf(repository)}, ${writtenVersion(other.reference)}`
    : null;
}

/** Why a service that was named with the app is not the app's; null where it is, or may be. */
export function whyForeign(app: ServiceImage, other: ServiceImage): string | null {
  const runs = `${other.name} runs ${shown(other.reference)}`;
  if (isDatabase(other.reference)) return `${runs}, which is a database; databases are never updated`;
  if (isOneRepository(app.reference, other.reference)) return null;
  const isOne = isOnePublisher(app.reference, other.reference);
  if (isOne && (sharesPin(app, other) || isOneVersion(app, other))) return null;
  const ofApp = `${app.name} (${shown(app.reference)})`;
  return isOne
    ? `${runs}, but the image and version differ from those of ${ofApp}`
    : `${runs}, which is not from the publisher of ${ofApp}`;
}

const sharesPin = (a: ServiceImage, b: ServiceImage): boolean =>
  a.pin !== null && b.pin !== null && isOnePin(a.pin, b.pin);

const versionOf = ({ tag }: Reference): string => statedVersion(tag ?? 'latest');

const isOneVersion = (a: ServiceImage, b: ServiceImage): boolean =>
  versionOf(a.reference) === versionOf(b.reference);

/** As the product writes it: `v1.144.1`. */
const writtenVersion = (reference: Reference): string =>
  `${/^v(?=\d)/.exec(reference.tag ?? '')?.[0] ?? ''}${versionOf(reference)}`;

const isExact = (reference: Reference): boolean => /^\d+\.\d/.test(versionOf(reference));

/** `acme/svc:v1.2.0`, without a digest. */
export const shown = (reference: Reference): string => formatReference({ ...reference, digest: null });

/** Repeats an option for each value. */
export const flags = (name: string, values: readonly string[]): string =>
  values.map((value) => `--${name} ${value}`).join(' ');
