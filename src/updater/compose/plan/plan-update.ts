import { join } from 'node:path';
import { requirePinMatchesModel } from '../../../core/compose/pins/find-pin.ts';
import type { Pin } from '../../../core/compose/pins/pin.ts';
import { countVersionNumbers, isMajorVersionChange } from '../../../core/release/compare-versions.ts';
import { planTagUpdate, type TagUpdateResult } from '../../../core/release/plan-tag-update.ts';
import type { ReleaseOrCanaryTarget } from '../../../core/release/target.ts';
import { isContainerOfImage } from '../../../engine/comparison/same-image.ts';
import type { Image } from '../../../engine/objects/container.ts';
import { versionLabel } from '../../../engine/objects/labels.ts';
import type { RunningApp } from '../../plan/check-required-release.ts';
import { planRelease, type ReleasePlan } from '../../plan/release-plan.ts';
import type { TargetOption } from '../../run/options/update-options.ts';
import {
  type InspectedProject,
  releaseComposeFileNames,
  updatedServicesOf,
} from '../inspect/installation.ts';
import { formatRunningVersion } from '../inspect/log-installation.ts';
import { hasContradictingVersionLabel, listRunningVersions } from '../inspect/running-version.ts';

/** A release plan with the project that it is for. */
export type PlannedProject<I extends InspectedProject = InspectedProject> = ReleasePlan & { installation: I };

/**
 * Plans the update of a compose project (docs/contract.md 3.2). Changes nothing.
 * @throws UpdateError proof-failed if a pin and compose's model specify different images
 */
export function planUpdate<I extends InspectedProject>(project: I, request: TargetOption): PlannedProject<I> {
  const { runningVersion, model, kind } = project;
  const services = updatedServicesOf(project).map(({ pin, containers }) => ({
    pin,
    shouldPull: model.services[pin.service]?.pull_policy !== 'never',
    trustsLabel: !containers.some(hasContradictingVersionLabel),
  }));
  const isCanary = kind === 'generated' && services.every(({ pin }) => pin.tag.kind === 'canary');
  const defaultTarget = isCanary ? ({ kind: 'canary', tag: 'canary' } as const) : null;
  const nextTag = (pin: Pin, to: ReleaseOrCanaryTarget | null) => {
    requirePinMatchesModel(pin, model.services[pin.service]?.image);
    return nextTagOf(project, pin, to);
  };
  const pinned = { services, from: formatRunningVersion(project), defaultTarget, nextTag };
  const plan = planRelease(project, pinned, request);
  const major = findMajorVersionWarnings(plan.prefix, runningVersion, plan.release?.version ?? null);
  return { ...plan, warnings: [...untrustedLabels(project), ...plan.warnings, ...major] };
}

/** Returns the plan; null if planning fails, because the error is reported when the update is planned again later. */
export function tryPlanUpdate(project: InspectedProject, request: TargetOption): PlannedProject | null {
  try {
    return planUpdate(project, request);
  } catch {
    return null;
  }
}

function untrustedLabels(installation: InspectedProject): string[] {
  const untrusted = updatedServicesOf(installation).flatMap(({ containers }) =>
    containers.filter(hasContradictingVersionLabel),
  );
  const sentences = untrusted.map(
    ({ imageReference, labels }) =>
      `the version label of ${imageReference} specifies ${labels[versionLabel]}, which differs from its tag; the updater ignores this label and compares tags`,
  );
  return [...new Set(sentences)];
}

/** Warns about a change of the major version. Empty if either version is unknown. */
export function findMajorVersionWarnings(prefix: string, from: string | null, to: string | null): string[] {
  if (!from || !to || !isMajorVersionChange(from, to)) return [];
  return [
    `${prefix}${from} → ${prefix}${to} changes the major version. Back up the database first or use --restore-point; otherwise, the data cannot be restored`,
  ];
}

/** @param image - the pulled image of the app, if there is one */
export const runningAppOf = (project: InspectedProject, image: Image | undefined): RunningApp => ({
  oldestVersion: listRunningVersions(project.app.containers)[0] ?? project.runningVersion,
  isInstalled: project.app.containers.every((container) => isContainerOfImage(container, image)),
  nextTag: (required) => nextTagOf(project, project.app.pin, required),
});

/** Determines the new tag of a pin. Without a target, the pin keeps its tag. */
function nextTagOf(
  installation: InspectedProject,
  pin: Pin,
  target: ReleaseOrCanaryTarget | null,
): TagUpdateResult {
  if (target === null) return { kind: 'stays' };
  if (installation.kind === 'generated' && !isPinInUserFile(installation, pin)) {
    if (target.kind === 'release' && target.lead !== undefined) return { kind: 'variant' };
    const isShort = target.kind === 'release' && countVersionNumbers(target.version) < 3;
    return isShort ? { kind: 'short' } : { kind: 'moved', tag: target.tag };
  }
  return planTagUpdate(pin.tag, target);
}

/** Whether a generated installation's pin is in a user's own file, which releases do not overwrite. */
export function isPinInUserFile(installation: InspectedProject, pin: Pin): boolean {
  if (pin.location.kind === 'variable') return pin.location.variable !== installation.versionVariable;
  const { directory } = installation.project;
  return !releaseComposeFileNames.map((name) => join(directory, name)).includes(pin.location.file);
}
