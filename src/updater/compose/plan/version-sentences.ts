import { compareSharedNumbers } from '../../../core/release/compare-versions.ts';
import { isNumbered, parsePinTag } from '../../../core/release/pin-tag.ts';
import { isContainerOfImage } from '../../../engine/comparison/same-image.ts';
import type { ServiceUpdate } from '../../plan/release-plan.ts';
import { labelledVersionOf } from '../../plan/release-plan.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { Plan, PreparedPlan } from './prepared-plan.ts';

/**
 * Returns the name of the version before the update. This is the tag if the old and the new image have the same version
 * label, because such a label does not follow the releases.
 */
export const previousVersionNameOf = (plan: PreparedPlan): string =>
  isInherited(plan) ? plan.app.pin.tag.text : plan.from;

/** Whether the new image of a floating tag has the same version label as the running image. */
function isInherited({ app, installation, images, version }: PreparedPlan): boolean {
  const image = images.get(app.to);
  const { containers } = installation.app;
  return (
    !isNumbered(app.pin.tag) &&
    version !== null &&
    version === installation.runningVersion &&
    containers.every((container) => !isContainerOfImage(container, image))
  );
}

/** Returns the version of the app after the update; for a floating tag, the tag with the version of its image. */
export const reachedVersionNameOf = (plan: PreparedPlan): string => reachedBy(plan, plan.app, plan.version);

function reachedBy(plan: PreparedPlan, update: ServiceUpdate, version: string | null): string {
  const { to, prefix } = plan;
  if (parsePinTag(update.tag).kind === 'release') return to;
  const isWrong =
    version === null || isDisproved(plan, update, version) || (update === plan.app && isInherited(plan));
  return !isWrong ? `${update.tag} (${prefix}${version})` : update.tag;
}

/** Describes the version of each service after the update, without services that remain stopped. */
export function describeRunningServices(plan: PreparedPlan, stopped: readonly string[] = []): string {
  const updates = plan.updates.filter(({ service }) => !stopped.includes(service));
  const word = (update: ServiceUpdate) => reachedBy(plan, update, versionOf(update, plan));
  return [...Map.groupBy(updates, word)].map(runs).join(', ');
}

/** Returns warnings about tags and labels with another version than the target, once for each image. */
export function findVersionWarnings(plan: PreparedPlan): string[] {
  const { release, to, prefix } = plan;
  if (release === null) return [];
  const isOther = (update: ServiceUpdate) => {
    const version = versionOf(update, plan);
    return version !== null && compareSharedNumbers(version, release.version) !== 0;
  };
  const warning = (update: ServiceUpdate) => {
    const found = versionOf(update, plan) ?? '';
    const version = `${prefix}${found}`;
    return floats(update) && !isDisproved(plan, update, found)
      ? `${update.tag}, which is now ${version}, not ${to}`
      : `${update.to}, whose label specifies ${version}, not ${to}`;
  };
  return [...Map.groupBy(plan.updates.filter(isOther), warning)].map(runs);
}

/**
 * Whether a version label is wrong: it is older than the target, although `checkStaleTags` has found the image of the
 * floating tag under the target's tag.
 */
const isDisproved = ({ release, app }: Plan, update: ServiceUpdate, version: string): boolean =>
  (update === app || floats(update)) &&
  release !== null &&
  compareSharedNumbers(version, release.version) < 0;

const floats = ({ tag }: ServiceUpdate): boolean =>
  ['latest', 'word', 'part'].includes(parsePinTag(tag).kind);

const runs = ([what, updates]: [string, ServiceUpdate[]]): string =>
  `${joinWithAnd(updates.map(({ service }) => service))} ${updates.length > 1 ? 'run' : 'runs'} ${what}`;

function versionOf(update: ServiceUpdate, { references, images }: PreparedPlan): string | null {
  const { service: name, to } = update;
  return labelledVersionOf(update, images.get(references.get(name) ?? to) ?? images.get(to));
}
