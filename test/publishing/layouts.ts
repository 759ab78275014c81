import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Descriptor } from '../../scripts/lib/release/layout.ts';
import { type Image, sha256 } from '../rig/image.ts';

/** Writes images as an OCI layout, each with its tag; shared blobs are stored once. */
export async function writeLayout(folder: string, images: Readonly<Record<string, Image>>): Promise<void> {
  await mkdir(join(folder, 'blobs/sha256'), { recursive: true });
  const manifests: Descriptor[] = [];
  for (const [tag, { blobs, manifest }] of Object.entries(images)) {
    for (const { digest, bytes } of [...blobs, { digest: sha256(manifest.bytes), bytes: manifest.bytes }]) {
      const path = join(folder, 'blobs', digest.replace(':', '/'));
      await writeFile(path, bytes, { flag: 'wx' }).catch((error) => {
        if (error.code !== 'EEXIST') throw error;
      });
    }
    manifests.push({
      ...{ mediaType: manifest.mediaType, digest: sha256(manifest.bytes), size: manifest.bytes.length },
      annotations: { 'org.opencontainers.image.ref.name': tag },
    });
  }
  await writeFile(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
}
