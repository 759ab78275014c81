import { UpdateError } from '../../../../core/errors/update-error.ts';
import type { ComposeModel } from '../../../../engine/cli/compose.ts';
import { type Image, serviceOf } from '../../../../engine/objects/container.ts';
import { findContainerPlatform, normalizePlatform } from '../../../../engine/objects/platform.ts';
import type { ServiceUpdate } from '../../../plan/release-plan.ts';
import type { Installation } from '../../inspect/installation.ts';
import type { ProjectUpdatePlan } from '../prepared-plan.ts';

/**
 * Checks that each new image runs on the platform in the compose files, or otherwise on the running container's
 * platform. Compose pulls images for other platforms without a warning. The platform may have been set only in a shell
 * (docs/contract.md 3.23).
 * @param model - compose's model of the new files
 * @param images - the local images, keyed by reference; missing images are not checked
 * @returns a warning for each service whose platform the compose files change
 * @throws UpdateError pull-platform
 */
export function checkImagePlatforms(
  { installation, updates }: ProjectUpdatePlan,
  model: ComposeModel,
  images: ReadonlyMap<string, Image>,
): string[] {
  return updates.flatMap((update) => {
    const chosen = model.services[update.service]?.platform;
    return judge(installation, update, chosen ? normalizePlatform(chosen) : null, images.get(update.to));
  });
}

function judge(
  { platform: own, imagesInUse, containers }: Installation,
  { service, to }: ServiceUpdate,
  chosen: string | null,
  image: Image | undefined,
): string[] {
  const { platforms: here = [] } = image ?? {};
  // The check is skipped if the engine reports no platforms.
  if (here.length === 0) return [];
  const container = containers.findLast((each) => serviceOf(each) === service);
  const old = imagesInUse.get(container?.imageId ?? '');
  const told = container?.platform ?? (old?.platforms.length === 1 ? old.platforms[0] : undefined);
  const runs = told ?? own;
  const gets = findContainerPlatform(here, chosen, own);
  if (gets === null) {
    const message = `${to} was built for ${here.join(', ')}, but the compose files specify ${chosen} for ${service}`;
    throw new UpdateError('pull-platform', message);
  }
  if (gets === runs) return [];
  if (chosen !== null) {
    return [
      `the platform of ${service} will change from ${runs} to ${gets}, as specified in the compose files`,
    ];
  }
  const message = `${service} runs on ${runs}, but ${to} would run on ${gets}, because no compose file specifies a platform`;
  const advice = `In the compose file, set "platform: ${runs}" for ${service} to keep the platform, or "platform: ${gets}" to change it. Then run {command} again.`;
  throw new UpdateError('pull-platform', message, { advice });
}
