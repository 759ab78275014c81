import type { Pin } from '../../../core/compose/pins/pin.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type { EngineContext } from '../../run/run-context.ts';
import { type Installation, updatedServicesOf } from '../inspect/installation.ts';
import { isVersionTag } from './plan-enable.ts';

/**
 * Returns the running version as a tag for services whose tag is not a version. Returns null, with a message in the log,
 * if the registry does not confirm that this tag is the running image of each of these services.
 */
export async function chooseVersionTag(
  { engine, log }: EngineContext,
  installation: Installation,
  pins: readonly Pin[],
): Promise<string | null> {
  const floating = pins.filter(({ tag }) => !isVersionTag(tag.kind));
  if (floating.length === 0) return null;
  const names = [...new Set(floating.map(({ tag }) => tag.text))].join(' and ');
  const { runningVersion: version, prefix } = installation;
  if (version === null) {
    log.warn(`the tag ${names} is not changed, because the running image does not specify its version`);
    return null;
  }
  const tags = [...new Set([`${prefix ?? ''}${version}`, version, `v${version}`])];
  for (const tag of tags) {
    const all = await Promise.all(floating.map((pin) => isRunningImage(engine, installation, pin, tag)));
    if (all.every(Boolean)) return tag;
  }
  log.warn(
    `the tag ${names} is not changed, because the tag ${tags[0]} in the registry is not the running image, or the registry did not respond`,
  );
  return null;
}

/**
 * Requires that the registry has the product's own service for the running version. Older versions cannot be updated
 * from their page. If `latest` stays, the running image must be the newest, because the new service would be.
 * @throws UpdateError enable-refused
 */
export async function requirePublishedService(
  engine: Engine,
  installation: Installation,
  { repository, pin, tag }: { repository: string; pin: Pin; tag: string },
): Promise<void> {
  const found = await engine.findRemoteDigest({ repository, tag });
  if (found === null)
    throw new UpdateError(
      'pull-unreachable',
      `it is unknown whether the registry has ${repository}:${tag}, because it did not respond`,
    );
  if (found === 'none')
    throw new UpdateError(
      'enable-refused',
      `the registry does not have ${repository}:${tag}, so the running version cannot be updated from its page`,
      { advice: 'Update to a newer version with docker compose, then run enable again.' },
    );
  if (pin.tag.kind === 'release' || tag !== pin.tag.text) return;
  if (await isRunningImage(engine, installation, pin, tag)) return;
  throw new UpdateError(
    'enable-refused',
    `${pin.service} runs an older image than ${pin.reference.repository}:${tag}, so ${repository}:${tag} may be another version`,
    { advice: 'Run {compose} pull && {up}, then run enable again.' },
  );
}

async function isRunningImage(
  engine: Engine,
  installation: Installation,
  { service, reference: { repository } }: Pin,
  tag: string,
): Promise<boolean> {
  const found = await engine.findRemoteDigest({ repository, tag });
  if (found === null || found === 'none') return false;
  const facts = updatedServicesOf(installation).find(({ name }) => name === service);
  const images = await engine.inspectImages(facts?.containers.map(({ imageId }) => imageId) ?? []);
  return (
    images.length > 0 &&
    images.every((image) => image?.digests.some((each) => each.endsWith(`@${found.digest}`)))
  );
}
