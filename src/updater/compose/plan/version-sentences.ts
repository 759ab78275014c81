import { compareSharedVersionNumbers } from '../../../core/release/compare-versions.ts';
import { isNumberedTag, parsePinTag } from '../../../core/release/pin-tag.ts';
import { isContainerOfImage } from '../../../engine/comparison/same-image.ts';
import type { ServiceUpdate } from '../../plan/release-plan.ts';
import { labeledVersionOf } from '../../plan/release-plan.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { PreparedPlan, ProjectUpdatePlan } from './prepared-plan.ts';

/**
 * Returns the version before the update. Returns the tag instead if the old and the new image have the same version
 * label, because the label cannot be right for both.
 */
export const previousVersionNameOf = (plan: PreparedPlan): string =>
  hasStaleVersionLabel(plan) ? plan.app.pin.tag.text : plan.from;

/** Whether a floating tag's new image differs from the running image, but has the same version label. */
function hasStaleVersionLabel({ app, installation, images, version }: PreparedPlan): boolean {
  const image = images.get(app.to);
  const { containers } = installation.app;
  return (
    !isNumberedTag(app.pin.tag) &&
    version !== null &&
    version === installation.runningVersion &&
    containers.every((container) => !isContainerOfImage(container, image))
  );
}

/** Returns the app's version after the update. For a floating tag, this is the tag and the version of its image. */
export const newVersionNameOf = (plan: PreparedPlan): string => reachedBy(plan, plan.app, plan.version);

function reachedBy(plan: PreparedPlan, update: ServiceUpdate, version: string | null): string {
  const { to, prefix } = plan;
  if (parsePinTag(update.tag).kind === 'release') return to;
  const isWrong =
    version === null ||
    isWrongVersionLabel(plan, update, version) ||
    (update === plan.app && hasStaleVersionLabel(plan));
  return !isWrong ? `${update.tag} (${prefix}${version})` : update.tag;
}

/** Describes each service's version after the update, except for services that remain stopped. */
export function describeRunningServices(plan: PreparedPlan, stopped: readonly string[] = []): string {
  const updates = plan.updates.filter(({ service }) => !stopped.includes(service));
  const word = (update: ServiceUpdate) => reachedBy(plan, update, versionOf(update, plan));
  return [...Map.groupBy(updates, word)].map(runs).join(', ');
}

/** Warns about tags and labels whose version differs from the target. */
export function findVersionMismatchWarnings(plan: PreparedPlan): string[] {
  const { release, to, prefix } = plan;
  if (release === null) return [];
  const isOther = (update: ServiceUpdate) => {
    const version = versionOf(update, plan);
    return version !== null && compareSharedVersionNumbers(version, release.version) !== 0;
  };
  const warning = (update: ServiceUpdate) => {
    const found = versionOf(update, plan) ?? '';
    const version = `${prefix}${found}`;
    return floats(update) && !isWrongVersionLabel(plan, update, found)
      ? `${update.tag}, which is now ${version}, not ${to}`
      : `${update.to}, whose label specifies ${version}, not ${to}`;
  };
  return [...Map.groupBy(plan.updates.filter(isOther), warning)].map(runs);
}

/** Whether a version label is wrong: it is older than the target, although `checkStaleTags` accepted the tag. */
const isWrongVersionLabel = (
  { release, app }: ProjectUpdatePlan,
  update: ServiceUpdate,
  version: string,
): boolean =>
  (update === app || floats(update)) &&
  release !== null &&
  compareSharedVersionNumbers(version, release.version) < 0;

const floats = ({ tag }: ServiceUpdate): boolean =>
  ['latest', 'word', 'part'].includes(parsePinTag(tag).kind);

const runs = ([what, updates]: [string, ServiceUpdate[]]): string =>
  `${joinWithAnd(updates.map(({ service }) => service))} ${updates.length > 1 ? 'run' : 'runs'} ${what}`;

function versionOf(update: ServiceUpdate, { references, images }: PreparedPlan): string | null {
  const { service: name, to } = update;
  return labeledVersionOf(update, images.get(references.get(name) ?? to) ?? images.get(to));
}
