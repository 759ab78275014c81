import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UpdateError } from '../../progress/update-error.ts';
import { proveRelease, Unproven } from '../../provenance/prove-release.ts';
import { readTrust } from '../../provenance/trust.ts';
import type { UpdateOptions } from './options.ts';

/** What a release has to be, as whoever asks for the update has had it proven (docs/contract.md 3.21). */
export interface Expectations {
  /** Digests of an index, a manifest or a configuration, by service or by repository. */
  images: ReadonlyMap<string, ReadonlySet<string>>;
  /** `sha256:…` of the files that a release ships, by name. */
  files: ReadonlyMap<string, string>;
}

type Asked = Pick<UpdateOptions, 'expect' | 'expectFiles' | 'release' | 'trust' | 'product' | 'target'>;

/**
 * Of the options, and of a `release.json` that is given with them; null where nothing is to be proven. `platform` is the
 * engine's, `linux/amd64`.
 * @throws UpdateError not-proven
 */
export async function expectationsOf(options: Asked, platform: string): Promise<Expectations | null> {
  const images = new Map<string, Set<string>>();
  const add = (name: string, digests: readonly string[]) =>
    images.set(name, new Set([...(images.get(name) ?? []), ...digests]));
  const files = new Map(options.expectFiles.map(halves));
  for (const [name, digest] of options.expect.map(halves)) add(name, [digest]);
  const { release, trust } = options;
  if (release !== null && trust !== null) {
    const told = await provenIn(release, trust, options);
    for (const [name, { digest, platforms }] of Object.entries(told.images)) {
      const { manifest, config } = platforms[platform] ?? {};
      if (manifest === undefined || config === undefined)
        throw new UpdateError(
          'not-proven',
          `${release}/release.json has no image of ${name} for ${platform}`,
        );
      add(name, [digest, manifest, config]);
    }
    for (const [name, digest] of Object.entries(told.files)) files.set(name, digest);
  }
  return images.size === 0 && files.size === 0 ? null : { images, files };
}

const halves = (text: string): [string, string] => {
  const at = text.lastIndexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
};

async function provenIn(folder: string, trustFile: string, { product, target }: Asked) {
  const [file, bundle, trust] = await Promise.all([
    read(join(folder, 'release.json')),
    read(join(folder, 'release.json.sigstore.json')),
    read(trustFile),
  ]);
  const told = (version: string | null) =>
    proveRelease(file, bundle.toString(), readTrust(trust.toString()), { product: product.name, version });
  try {
    const { version } = await told(null);
    const isIt = target?.kind !== 'release' || bare(target.tag) === bare(version);
    return await told(isIt ? version : (target?.tag ?? null));
  } catch (cause) {
    const where = cause instanceof Unproven ? `${folder}/release.json` : trustFile;
    throw new UpdateError('not-proven', `${where}: ${(cause as Error).message}`, { cause });
  }
}

const bare = (tag: string): string => tag.replace(/^v/, '');

const read = (path: string): Promise<Buffer> =>
  readFile(path).catch((cause: NodeJS.ErrnoException) => {
    throw new UpdateError('not-proven', `${path} cannot be read: ${cause.code}`, { cause });
  });
