import { updateTargetOf } from '../../../core/release/channel.ts';
import type { EngineApi } from '../../../engine/engine-api.ts';
import { rejectionCodes, tolerateErrors } from '../../../engine/http/engine-error.ts';
import {
  createPlatformPredicate,
  listImageNames,
  type ReleaseFile,
} from '../../../provenance/release-file.ts';
import type { UpdateTarget } from '../../available-update/choose-update.ts';

/**
 * Returns the updater's command-line options for a target. For a verified target, they include the expected file hashes
 * and image digests.
 * @throws EngineError
 */
export async function createUpdaterTargetOptions(
  { to, proof }: Pick<UpdateTarget, 'to' | 'proof'>,
  engine: Pick<EngineApi, 'getFacts'>,
): Promise<string[]> {
  const target = ['--target', updateTargetOf(to)];
  if (proof === undefined) return target;
  const facts = await engine.getFacts().catch(tolerateErrors(...rejectionCodes));
  const isOfEngine = createPlatformPredicate(facts?.platform ?? '');
  // Returns all digests that this engine may report for the image.
  const digestsOf = ({ digest, platforms }: ReleaseFile['images'][string]) => [
    digest,
    ...Object.entries(platforms).flatMap(([name, { manifest, config }]) =>
      isOfEngine(name) ? [manifest, config] : [],
    ),
  ];
  return [
    ...target,
    ...Object.entries(proof.images).flatMap(([service, image]) =>
      listImageNames(service, image).flatMap((name) =>
        [...new Set(digestsOf(image))].flatMap((digest) => ['--expect', `${name}=${digest}`]),
      ),
    ),
    ...Object.entries(proof.files).flatMap(([name, hash]) => ['--expect-file', `${name}=${hash}`]),
  ];
}
