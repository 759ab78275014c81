import { composeLabels } from './labels.ts';

/** What a container is made of, as the engine tells it or a journal has it. */
export interface ImageInUse {
  /** The local image's id, `sha256:…`: with the containerd store the digest of an index, with the others of a configuration. */
  imageId: string;
  /** The digest of its platform's manifest, which no attestation changes; null or left out where the engine does not tell. */
  imageManifest?: string | null;
}

/** A local image, as the engine tells of it or a journal has it. */
export interface LocalImage {
  id: string;
  /** Those of its manifests for a platform that are here; none or left out where the engine does not tell. */
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
 * Whether `up` would leave the container, as far as its image goes. Compose compares what it has noted in a label: up to
 * 5.2 the image's id, later the manifest's digest. A container of an older one is made anew, once, where the id is another.
 */
export const keepsContainer = (
  container: ImageInUse & { labels: Readonly<Record<string, string>> },
  image: LocalImage | null | undefined,
): boolean =>
  runsImage(container, image) &&
  (container.imageId === image?.id ||
    (image?.manifests ?? []).includes(container.labels[composeLabels.image] ?? 'none'));
