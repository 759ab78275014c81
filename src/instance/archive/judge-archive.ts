import { proveRelease, Unproven } from '../../provenance/prove-release.ts';
import { type ArchiveHead, blobOf, type ReleaseArchive } from '../../provenance/release-archive.ts';
import { isOfPlatform, type ReleaseFile } from '../../provenance/release-file.ts';
import type { Trust } from '../../provenance/trust.ts';
import { channelOf, isAhead } from '../../release/channel.ts';
import { destinationOf, type OfferFacts } from '../offer/offer.ts';
import { ArchiveRefused } from './archive-refused.ts';

/** What a release in an archive is held against. */
export interface ArchiveFacts {
  trust: Trust;
  /** The product's name. */
  product: string;
  /** `linux/amd64`, as the engine says it; null where it does not. */
  platform: string | null;
  known: OfferFacts;
}

/**
 * What its first bytes prove: by whom it was published, that it is this product's, newer than what runs, and for this
 * engine. @throws ArchiveRefused
 */
export async function judgeHead(
  { file, bundle }: ArchiveHead,
  { trust, product, platform, known }: ArchiveFacts,
): Promise<ReleaseFile> {
  const release = await proveRelease(file, bundle, trust, { product, version: null }).catch((error) => {
    throw error instanceof Unproven ? unproven(error.message) : error;
  });
  const { version, requires } = release;
  const images = Object.entries(release.images);
  // The updater would be told of none, and so take any.
  if (images.length === 0) throw unproven('it names no image');
  if (channelOf(version) === null)
    throw new ArchiveRefused('archive-refused', `${version} is no version that can be gone to`);
  const destination = destinationOf(version, known);
  if ('upToDate' in destination) throw new ArchiveRefused('up-to-date', destination.upToDate);
  if (requires && isAhead(requires, known.version))
    throw new ArchiveRefused(
      'archive-refused',
      `${version} can be updated to from ${requires} on, and ${known.version} runs`,
      `Send ${requires} first.`,
    );
  for (const [name, { platforms }] of images)
    if (platform !== null && !Object.keys(platforms).some(isOfPlatform(platform)))
      throw new ArchiveRefused(
        'archive-refused',
        `${version} has no image ${name} for ${platform}, which the engine runs`,
      );
  return release;
}

/** An archive has the images of one platform, whatever its release has. @throws ArchiveRefused */
export function judgeImages(
  { entries }: ReleaseArchive,
  { images, version }: ReleaseFile,
  platform: string | null,
): void {
  const isIn = (digest: string) => entries.has(blobOf(digest));
  for (const [name, { digest, platforms }] of Object.entries(images)) {
    const own = Object.entries(platforms).filter(([one]) => platform === null || isOfPlatform(platform)(one));
    if (!isIn(digest) || !own.some(([, { manifest }]) => isIn(manifest)))
      throw new ArchiveRefused(
        'archive-refused',
        `the archive of ${version} has no image ${name} for ${platform ?? 'any platform'}, which the engine runs`,
        `Send the archive of ${platform ?? 'the platform of the machine'}.`,
      );
  }
}

const unproven = (why: string): ArchiveRefused =>
  new ArchiveRefused('unproven', `the archive is not proven: ${why}`);
