import { join } from 'node:path';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { readLimitedFile } from '../../../core/files/read-limited-file.ts';
import { parseTarget } from '../../../core/release/target.ts';
import { openReleaseArchive, type SignedReleaseFile } from '../../../provenance/release-archive.ts';
import {
  createPlatformPredicate,
  listImageNames,
  type ReleaseFile,
} from '../../../provenance/release-file.ts';
import { parseTrust } from '../../../provenance/trust.ts';
import { UnverifiedError, verifyRelease } from '../../../provenance/verify-release.ts';
import type { ProofOptions, UpdateOptions } from '../options/update-options.ts';

/** Digests that the images and files of a verified release must have (docs/contract.md 3.21). */
export interface ExpectedDigests {
  /** Accepted digests (of an image index, a manifest or an image configuration), keyed by service or repository. */
  images: ReadonlyMap<string, ReadonlySet<string>>;
  /** Digests (`sha256:…`) of release files, keyed by file name. */
  files: ReadonlyMap<string, string>;
  /** Compressed size in bytes of each known layer, keyed by service or repository, then by layer digest. */
  layers: ReadonlyMap<string, Readonly<Record<string, number>>>;
  settings?: ReleaseFile['settings'];
}

type DigestOptions = Pick<UpdateOptions, 'proof' | 'product' | 'target'>;

/**
 * If no target is given, sets the target to the release of the archive. Ignores an archive that cannot be verified,
 * because `readExpectedDigests` reports it later.
 */
export async function addTargetFromArchive(options: UpdateOptions): Promise<UpdateOptions> {
  const { proof, target } = options;
  if (proof.archive === null || proof.trust === null || target !== null) return options;
  const told = await readVerifiedRelease(options).catch(() => null);
  return told === null ? options : { ...options, target: parseTarget(told.version) };
}

/**
 * Collects digests from the options and the `release.json` of a directory or archive; null if there are none.
 * @param platform - the engine's platform: `linux/amd64`
 * @throws UpdateError not-proven
 */
export async function readExpectedDigests(
  options: DigestOptions,
  platform: string,
): Promise<ExpectedDigests | null> {
  const images = new Map<string, Set<string>>();
  const add = (name: string, digests: readonly string[]) =>
    images.set(name, new Set([...(images.get(name) ?? []), ...digests]));
  const files = new Map(options.proof.expectFiles.map(splitAtLastEquals));
  const layers = new Map<string, Readonly<Record<string, number>>>();
  for (const [name, digest] of options.proof.expect.map(splitAtLastEquals)) add(name, [digest]);
  const { release, archive, trust } = options.proof;
  let settings: ReleaseFile['settings'];
  // Without a release directory or archive, the trust file is only used for the channel file.
  if (trust !== null && (release !== null || archive !== null)) {
    const told = await readVerifiedRelease(options);
    for (const [name, { reference, digest, platforms }] of Object.entries(told.images)) {
      const own = Object.keys(platforms).filter(createPlatformPredicate(platform));
      if (own.length === 0)
        throw new UpdateError(
          'not-proven',
          `${releaseFilePathOf(options.proof)} lists no image of ${name} for ${platform}`,
        );
      const parts = own.flatMap((each) => {
        const { manifest, config } = platforms[each] ?? {};
        return [manifest ?? [], config ?? []].flat();
      });
      const known = platforms[own[0] ?? '']?.layers;
      for (const key of listImageNames(name, { reference })) {
        add(key, [digest, ...parts]);
        if (known !== undefined) layers.set(key, known);
      }
    }
    for (const [name, digest] of Object.entries(told.files)) files.set(name, digest);
    settings = told.settings;
  }
  return images.size === 0 && files.size === 0 ? null : { images, files, layers, settings };
}

const splitAtLastEquals = (text: string): [string, string] => {
  const at = text.lastIndexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
};

/** Path of the `release.json` or the archive, for messages. */
const releaseFilePathOf = ({ release, archive }: ProofOptions): string =>
  archive === null ? `${release}/release.json` : archive;

/** Verifies the signed `release.json` against the trust file and the target. @throws UpdateError not-proven */
async function readVerifiedRelease(options: DigestOptions): Promise<ReleaseFile> {
  const { proof, product, target } = options;
  const [{ file, bundle }, trust] = await Promise.all([readSignedRelease(proof), read(proof.trust ?? '')]);
  const told = (version: string | null) =>
    verifyRelease(file, bundle, parseTrust(trust.toString()), { product: product.name, version });
  try {
    const { version } = await told(null);
    const isIt = target?.kind !== 'release' || stripVersionPrefix(target.tag) === stripVersionPrefix(version);
    return await told(isIt ? version : (target?.tag ?? null));
  } catch (cause) {
    const where = cause instanceof UnverifiedError ? releaseFilePathOf(proof) : proof.trust;
    throw new UpdateError('not-proven', `${where}: ${(cause as Error).message}`, { cause });
  }
}

async function readSignedRelease({ release, archive }: ProofOptions): Promise<SignedReleaseFile> {
  if (archive !== null) {
    const opened = await requireOpenReleaseArchive(archive);
    await opened.close();
    return opened;
  }
  const [file, bundle] = await Promise.all(
    ['release.json', 'release.json.sigstore.json'].map((name) => read(join(release ?? '', name))),
  );
  return { file: file as Buffer, bundle: String(bundle) };
}

/** @throws UpdateError not-proven */
export const requireOpenReleaseArchive = (path: string) =>
  openReleaseArchive(path).catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === undefined ? cause.message : `the archive cannot be read (${cause.code})`;
    throw new UpdateError('not-proven', `${path}: ${why}`, { cause });
  });

const stripVersionPrefix = (tag: string): string => tag.replace(/^v/, '');

const read = (path: string): Promise<Buffer> =>
  readLimitedFile(path).catch((cause: NodeJS.ErrnoException) => {
    throw new UpdateError('not-proven', `${path} cannot be read (${cause.code})`, { cause });
  });
