import { isVersionAtLeast } from '../http/api-version.ts';
import type { Container } from '../objects/container.ts';
import { composeLabels } from '../objects/labels.ts';

/** A container's image, from the engine or a journal. Journals of earlier updater versions contain no manifest. */
type ImageInUse = Pick<Container, 'imageId'> & Partial<Pick<Container, 'imageManifest'>>;

/** A local image, from the engine or a journal. */
export interface LocalImage {
  id: string;
  /** Digests of the local platform manifests; empty or missing if the engine does not report them. */
  manifests?: readonly string[];
}

/**
 * Checks whether a container was created from this image, or from an image with the same content. If a tag is published
 * again, possibly only its index differs (docs/contract.md 3.15).
 */
export const isContainerOfImage = (
  { imageId, imageManifest }: ImageInUse,
  image: LocalImage | null | undefined,
): boolean =>
  image != null && (imageId === image.id || (image.manifests ?? []).includes(imageManifest || 'none'));

/** Checks whether two local images have the same content for all local platforms of the first image. */
export const isSameImage = (
  { id, manifests = [] }: LocalImage,
  other: LocalImage | null | undefined,
): boolean =>
  other != null &&
  (id === other.id ||
    (manifests.length > 0 && manifests.every((digest) => (other.manifests ?? []).includes(digest))));

/** Checks whether two containers were created from the same image, or from images with the same content. */
export const hasSameImage = (one: ImageInUse, { imageId, imageManifest }: ImageInUse): boolean =>
  isContainerOfImage(one, { id: imageId, manifests: imageManifest ? [imageManifest] : [] });

/**
 * Checks whether `docker compose up` keeps a container after a pull. Compose up to 5.2 replaces the container if the
 * image's id has changed.
 */
export const canRemainAfterUp = (
  container: ImageInUse & Pick<Container, 'labels'>,
  image: LocalImage | null | undefined,
): boolean =>
  isContainerOfImage(container, image) &&
  (container.imageId === image?.id ||
    (image?.manifests ?? []).includes(container.labels[composeLabels.image] ?? 'none') ||
    // Compose 5.3 and later compare only the content. They label a container with the manifest's digest, or with the
    // image's id if `up` itself pulled the image.
    isVersionAtLeast(container.labels[composeLabels.version] ?? '', '5.3'));
