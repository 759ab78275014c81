import type { Container } from './container.ts';
import { isAtLeast } from './http/api-version.ts';
import { composeLabels } from './labels.ts';

/** The image of a container, as the engine tells it or a journal has it; those of earlier versions have no manifest. */
type ImageInUse = Pick<Container, 'imageId'> & Partial<Pick<Container, 'imageManifest'>>;

/** A local image, as the engine tells of it or a journal has it. */
export interface LocalImage {
  id: string;
  /** Those of its manifests for a platform that are here; none or missing if the engine does not report them. */
  manifests?: readonly string[];
}

/**
 * Whether a container is made of this image: of the very same one, or of one with the same content, such as a tag that was
 * published again under another index (docs/contract.md 3.15).
 */
export const runsImage = (
  { imageId, imageManifest }: ImageInUse,
  image: LocalImage | null | undefined,
): boolean =>
  image != null && (imageId === image.id || (image.manifests ?? []).includes(imageManifest || 'none'));

/** Whether two local images have the same content: all that a container can be made of. */
export const isSameImage = (
  { id, manifests = [] }: LocalImage,
  other: LocalImage | null | undefined,
): boolean =>
  other != null &&
  (id === other.id ||
    (manifests.length > 0 && manifests.every((digest) => (other.manifests ?? []).includes(digest))));

/** Whether two containers are made of the same image. */
export const runSameImage = (one: ImageInUse, { imageId, imageManifest }: ImageInUse): boolean =>
  runsImage(one, { id: imageId, manifests: imageManifest ? [imageManifest] : [] });

/**
 * Whether a container may stay as it is beside a pulled image. Compose notes in labels what it was made of: up to 5.2 the
 * image's id, and its `up` replaces a container that has another; so does that of a later one, once. What a later one
 * has made is told by its content alone: it notes the manifest's digest, but the id where `up` itself had to pull.
 */
export const keepsContainer = (
  container: ImageInUse & Pick<Container, 'labels'>,
  image: LocalImage | null | undefined,
): boolean =>
  runsImage(container, image) &&
  (container.imageId === image?.id ||
    (image?.manifests ?? []).includes(container.labels[composeLabels.image] ?? 'none') ||
    isAtLeast(container.labels[composeLabels.version] ?? '', '5.3'));
