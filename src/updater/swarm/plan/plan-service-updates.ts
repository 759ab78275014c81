import { parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import type { Pin } from '../../../core/compose/pins/pin.ts';
import { createSourceMappedText } from '../../../core/compose/source-map.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { compareVersions } from '../../../core/release/compare-versions.ts';
import { isNumberedTag, type PinTag, parsePinTag } from '../../../core/release/pin-tag.ts';
import { planTagUpdate } from '../../../core/release/plan-tag-update.ts';
import type { ReleaseOrCanaryTarget } from '../../../core/release/target.ts';
import { type SwarmService, type SwarmTask, serviceImageOf } from '../../../engine/swarm/swarm-service.ts';
import { isProductPin, planRelease, type ReleasePlan } from '../../plan/release-plan.ts';
import type { TargetOption, UpdateOptions } from '../../run/options/update-options.ts';
import { type ChosenStack, shortServiceNameOf, stackFileImageOf } from '../services/choose-stack.ts';
import { isTaskAlive } from '../services/tasks.ts';

/**
 * @param tasks - tasks of the updated services, because old tasks may still be running although the spec already has
 * the new image
 * @throws UpdateError pin-digest, pin-unsupported
 */
export function planServiceUpdates(
  { app, workers }: Pick<ChosenStack, 'app' | 'workers'>,
  tasks: readonly SwarmTask[],
  request: TargetOption & Pick<UpdateOptions, 'product'>,
): ReleasePlan {
  const { product } = request;
  const pin = pinOf(app);
  const pins = [pin, ...workers.map(pinOf)];
  const images = [
    ...[app, ...workers].flatMap((service) => [serviceImageOf(service.spec), stackFileImageOf(service)]),
    ...tasks.filter(isTaskAlive).map(({ image }) => image),
  ];
  const versions = images.map(imageTagOf).flatMap((tag) => (isNumberedTag(tag) ? [tag.version] : []));
  const runningVersion = versions.sort(compareVersions).at(-1) ?? null;
  const ownPrefix = isNumberedTag(pin.tag) ? pin.tag.prefix : null;
  const prefix = isProductPin(pin, product) ? 'v' : ownPrefix;
  const services = pins.map((each) => ({
    pin: each,
    shouldPull: true,
    // A release tag already contains the version, so the version label is not used.
    trustsLabel: each.tag.kind !== 'release' || request.target?.kind === 'canary',
  }));
  const nextTag = ({ tag }: Pin, to: ReleaseOrCanaryTarget | null) =>
    to === null ? ({ kind: 'stays' } as const) : planTagUpdate(tag, to);
  const own = imageTagOf(serviceImageOf(app.spec));
  const from = isNumberedTag(own) ? `${prefix ?? ''}${own.version}` : own.text;
  const pinned = { services, from, defaultTarget: null, nextTag };
  return planRelease({ product, runningVersion, prefix }, pinned, request);
}

export const imageTagOf = (image: string): PinTag => parsePinTag(parseImageReference(image)?.tag ?? '');

/** The pin is the service's image as written in the stack file. */
function pinOf(service: SwarmService): Pin {
  const { name, stack } = service;
  const referenceText = stackFileImageOf(service);
  const reference = parseImageReference(referenceText);
  if (reference?.tag) {
    const description = `image of ${shortServiceNameOf(stack ?? '', service)} in the stack file`;
    return {
      ...{ service: name, reference, referenceText, tag: parsePinTag(reference.tag) },
      location: { kind: 'stack', file: '', description },
      resolved: createSourceMappedText(referenceText, '', -1, { via: 'text' }),
    };
  }
  if (reference?.digest)
    throw new UpdateError('pin-digest', `${name} is pinned to a digest without a tag (${referenceText})`);
  const advice =
    'Set a release tag such as v1.2.3 in the stack file and deploy the stack, then run {command} again.';
  throw new UpdateError('pin-unsupported', `the image used by ${name} has no tag (${referenceText})`, {
    advice,
  });
}
