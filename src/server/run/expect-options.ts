import type { EngineApi } from '../../engine/engine-api.ts';
import { rejections, unless } from '../../engine/http/engine-error.ts';
import { isOfPlatform, type ReleaseFile } from '../../provenance/release-file.ts';

/**
 * The updater options with the expected images and files: for each image, all digests that this engine may report.
 * @throws EngineError
 */
export async function expectOptions(
  proof: ReleaseFile | undefined,
  engine: Pick<EngineApi, 'getFacts'>,
): Promise<string[]> {
  if (proof === undefined) return [];
  const facts = await engine.getFacts().catch(unless(...rejections));
  const isOfEngine = isOfPlatform(facts?.platform ?? '');
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
