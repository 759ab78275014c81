import { archiveOf, sha256 } from './archive.ts';
import type { publisher } from './sign.ts';

const layer = Buffer.alloc(40_000, 'layer');

/**
 * An archive of a release of `releaseFile`, for linux/amd64, as somebody has signed it. `blobs` are the contents of other blobs than
 * those that have to be in it.
 */
export function signedArchive(
  by: ReturnType<typeof publisher>,
  told: object,
  { blobs = ['index', 'amd64', 'amd64 config', layer] }: { blobs?: readonly (string | Buffer)[] } = {},
): { bytes: Buffer; size: number; sha256: string } {
  const file = JSON.stringify(told);
  const bytes = archiveOf([
    ['release.json', file],
    ['release.json.sigstore.json', by.sign(Buffer.from(file))],
    ['oci-layout', '{"imageLayoutVersion":"1.0.0"}'],
    ['index.json', '{"schemaVersion":2,"manifests":[]}'],
    ...blobs
      .map((blob) => [`blobs/sha256/${sha256(blob)}`, blob] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  ]);
  return { bytes, size: bytes.length, sha256: sha256(bytes) };
}
