import { formatTagLocations } from '../../../core/compose/pins/pin.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type { ServiceUpdate } from '../../plan/release-plan.ts';
import type { RunContext } from '../../run/run-context.ts';
import { updatedServicesOf } from '../inspect/installation.ts';
import type { ProjectUpdatePlan } from '../plan/prepared-plan.ts';

/**
 * Rejects an update that would replace the owner's own build with a registry's image (docs/contract.md 3.26). Returns
 * the services with `build:` for which the registry did not report whether it has the running image.
 * @throws UpdateError own-build
 */
export async function checkLocalBuilds(
  { engine, options, log }: RunContext,
  plan: Pick<ProjectUpdatePlan, 'installation' | 'updates'>,
): Promise<string[]> {
  const unconfirmed: string[] = [];
  for (const update of plan.updates) {
    const { service, to, shouldPull: pull } = update;
    if (options.acceptOwnBuild || !pull || plan.installation.model.services[service]?.build === undefined)
      continue;
    const found = options.proof.archive === null ? await findPublishedImages(engine, plan, update) : null;
    if (found === 'none')
      throw createLocalBuildError(plan, update, 'the registry does not have the running image');
    if (found !== null) continue;
    unconfirmed.push(service);
    log.warn(
      `${service} has "build:", and its registry did not report whether it has the running image; if you built the image, the update replaces it with ${to}`,
    );
  }
  return unconfirmed;
}

/**
 * Returns `none` if the registry lacks one of the service's running images, and `all` if it has all of them. Returns
 * null if the registry did not say whether it has an image.
 */
async function findPublishedImages(
  engine: Engine,
  { installation }: Pick<ProjectUpdatePlan, 'installation'>,
  { service, pin }: ServiceUpdate,
): Promise<'all' | 'none' | null> {
  const facts = updatedServicesOf(installation).find(({ name }) => name === service);
  const ids = [...new Set(facts?.containers.map(({ imageId }) => imageId))];
  const images = await engine.inspectImages(ids);
  const { repository } = pin.reference;
  const answers = ids.map(async (id, at) => {
    const digests = images[at]?.digests.map((each) => each.replace(/.*@/, '')) ?? [];
    const requested = digests.length > 0 ? digests : [id];
    const all = await Promise.all(requested.map((tag) => engine.findRemoteDigest({ repository, tag })));
    return all.find((each) => each !== null && each !== 'none') ?? (all.includes(null) ? null : 'none');
  });
  const all = await Promise.all(answers);
  return all.includes('none') ? 'none' : all.includes(null) ? null : 'all';
}

/** Creates the error for the owner's own build, with advice on building the new release. */
export function createLocalBuildError(
  { updates }: Pick<ProjectUpdatePlan, 'updates'>,
  { service, pin, to }: ServiceUpdate,
  why: string,
): UpdateError {
  const all = updates.map((update) => update.service).join(' ');
  return new UpdateError('own-build', `${service} has "build:" in the compose files, and ${why}`, {
    advice: `To update your own build, change its Dockerfile or build arguments to the new release, set the new tag (${formatTagLocations([pin])}), then run {compose} build ${service} && {compose} up -d --no-deps ${all}. To install ${to} from the registry instead, use --accept-own-build. Also use it if you did not build the image, for example because it was loaded from an archive or has been removed from the registry.`,
  });
}
