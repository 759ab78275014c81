import { findUsablePin, isSamePin } from '../../../../core/compose/pins/find-pin.ts';
import {
  formatImageReference,
  type ImageReference,
  isDatabaseImage,
  isSamePublisher,
  isSameRepository,
  parseImageReference,
  publisherOf,
} from '../../../../core/compose/pins/image-reference.ts';
import type { Pin } from '../../../../core/compose/pins/pin.ts';
import type { ProjectFiles } from '../../../../core/compose/project-files.ts';
import { versionTextOf } from '../../../../core/release/pin-tag.ts';
import type { ComposeModel } from '../../../../engine/cli/compose.ts';

/** A service, its image in compose's model, and the pin of the image in the files. */
export interface ServiceImage {
  name: string;
  reference: ImageReference;
  /** Pin of the image; null if the pin cannot be read or changed. */
  pin: Pin | null;
}

/**
 * Returns the services with an image. A pin is resolved only when it is read, because the image alone usually shows
 * that a service is unrelated.
 */
export function serviceImagesOf(files: ProjectFiles, { services }: ComposeModel): ServiceImage[] {
  return Object.entries(services).flatMap(([name, { image }]) => {
    const reference = parseImageReference(image ?? '');
    if (reference === null) return [];
    let known: Pin | null = null;
    return {
      name,
      reference,
      get pin() {
        known ??= findUsablePin(files, name);
        return known;
      },
    };
  });
}

/** Describes why a service belongs with the app. Null for unrelated services and for all databases. */
export function explainRelatedService(app: ServiceImage, other: ServiceImage): string | null {
  if (isDatabaseImage(other.reference)) return null;
  const { repository } = app.reference;
  if (isSameRepository(app.reference, other.reference)) return `same repository: ${repository}`;
  if (!isSamePublisher(app.reference, other.reference)) return null;
  if (sharesPin(app, other)) return `same pin: ${other.pin?.location.description}`;
  // Only an exact version shows that two images belong to one release: a publisher may tag all products `latest` or
  // `2`.
  return isExact(other.reference) && isOneVersion(app, other)
    ? `same publisher and version: ${publisherOf(repository)}, ${writtenVersion(other.reference)}`
    : null;
}

/** Describes why a service is unrelated; null if it belongs or may belong with the app. */
export function explainUnrelatedService(app: ServiceImage, other: ServiceImage): string | null {
  const runs = `${other.name} runs ${formatReferenceWithoutDigest(other.reference)}`;
  if (isDatabaseImage(other.reference)) return `${runs}, which is a database; databases are never updated`;
  if (isSameRepository(app.reference, other.reference)) return null;
  const isOne = isSamePublisher(app.reference, other.reference);
  if (isOne && (sharesPin(app, other) || isOneVersion(app, other))) return null;
  const ofApp = `${app.name} (${formatReferenceWithoutDigest(app.reference)})`;
  return isOne
    ? `${runs}, but the image and version differ from those of ${ofApp}`
    : `${runs}, which is not from the publisher of ${ofApp}`;
}

const sharesPin = (a: ServiceImage, b: ServiceImage): boolean =>
  a.pin !== null && b.pin !== null && isSamePin(a.pin, b.pin);

const versionOf = ({ tag }: ImageReference): string => versionTextOf(tag ?? 'latest');

const isOneVersion = (a: ServiceImage, b: ServiceImage): boolean =>
  versionOf(a.reference) === versionOf(b.reference);

/** Returns the version in a tag, with the prefix `v` if the tag has it, such as `v1.144.1`. */
const writtenVersion = (reference: ImageReference): string =>
  `${/^v(?=\d)/.exec(reference.tag ?? '')?.[0] ?? ''}${versionOf(reference)}`;

const isExact = (reference: ImageReference): boolean => /^\d+\.\d/.test(versionOf(reference));

/** Formats a reference without its digest: `acme/svc:v1.2.0`. */
export const formatReferenceWithoutDigest = (reference: ImageReference): string =>
  formatImageReference({ ...reference, digest: null });

/** Repeats a command-line option for each value: `--service server --service worker`. */
export const formatRepeatedOption = (name: string, values: readonly string[]): string =>
  values.map((value) => `--${name} ${value}`).join(' ');
