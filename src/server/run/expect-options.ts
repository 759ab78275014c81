import type { EngineSocket } from '../../engine/socket.ts';
import { isOfPlatform, type ReleaseFile } from '../../provenance/release-file.ts';

/**
 * The updater options with the expected images and files: for each image, all digests that this engine may report.
 * @throws EngineFault
 */
export async function expectOptions(
  proof: ReleaseFile | undefined,
  engine: Pick<EngineSocket, 'platform'>,
): Promise<string[]> {
  if (proof === undefined) return [];
  const platform = await engine.platform();
  const isOfEngine = isOfPlatform(platform ?? '');
  const digestsOf = ({ digest, platforms }: ReleaseFile['images'][string]) => [
    digest,
    ...Object.entries(platforms).flatMap(([name, { manifest, config }]) =>
      isOfEngine(name) ? [manifest, config] : [],
    ),
  ];
  return [
    ...Object.entries(proof.images).flatMap(([service, image]) =>
      [...new Set(digestsOf(image))].flatMap((digest) => ['--expect', `${service}=${digest}`]),
    ),
    ...Object.entries(proof.files).flatMap(([name, hash]) => ['--expect-file', `${name}=${hash}`]),
  ];
}
