import { formatApplyTagAdvice, formatTagLocations } from '../../core/compose/pins/pin.ts';
import { UpdateError } from '../../core/errors/update-error.ts';
import { countVersionNumbers } from '../../core/release/compare-versions.ts';
import { isNumberedTag, parsePinTag, tagSuffixOf } from '../../core/release/pin-tag.ts';
import { listPossibleTags } from '../../core/release/plan-tag-update.ts';
import { joinWithAnd } from '../run/log/format-values.ts';
import { hasTagChange, type ReleasePlan, type ServiceUpdate } from './release-plan.ts';
import type { TagLookup } from './tag-lookup.ts';

/**
 * Before the pull, checks tags that the registry may lack, such as partial versions. If the target has fewer version
 * numbers than a pin, the error lists the full versions.
 * @throws UpdateError pin-unsupported, with the available tags
 */
export async function requirePublishedTags(plan: ReleasePlan, lookUp: TagLookup): Promise<void> {
  const { release, updates } = plan;
  if (release === null) return;
  // App and worker often have the same image; a missing tag is reported only for the first service.
  const byReference = new Map(updates.toReversed().map((update) => [update.to, update] as const));
  for (const update of byReference.values()) {
    const { pin, tag, shouldPull: pull, isShort } = update;
    const { repository } = pin.reference;
    // Other tags are not looked up, because the pull fails if they do not exist. After a failed lookup, the pull
    // decides too.
    const mayBeMissing = parsePinTag(tag).kind === 'part' || /\d/.test(tagSuffixOf(pin.tag));
    const isChecked = hasTagChange(update) && mayBeMissing && pull;
    if (!isShort && (!isChecked || (await lookUp(repository, tag)) !== 'none')) continue;
    const forms = listPossibleTags(pin.tag, release).filter((each) => each !== pin.tag.text);
    const digests = await Promise.all(forms.map((each) => lookUp(repository, each)));
    const published = forms.filter((_, at) => digests[at] !== null && digests[at] !== 'none');
    throw isShort
      ? createUnclearTargetError(plan, update, release.version, published)
      : createUnpublishedTagError(plan, update, published);
  }
}

/** @param published - tags of the target that the registry has */
function createUnpublishedTagError(
  { to, updates }: ReleasePlan,
  { pin, tag }: ServiceUpdate,
  published: readonly string[],
): UpdateError {
  // A tag with fewer numbers than the pin is not suggested, because it may point to a different release.
  const own = published.find((each) => countTagNumbers(each) >= countTagNumbers(pin.tag.text));
  const pins = updates.filter(hasTagChange).map((update) => update.pin);
  const others = own ? `; ${to} is published as ${joinWithAnd(published)}` : '';
  const advice = own
    ? `Manually set the tag to ${own} (${formatTagLocations(pins)}), ${formatApplyTagAdvice(pin)}.`
    : 'Check that the release is published, then run {command} again.';
  const message = `${pin.reference.repository} has no tag ${tag}${others}`;
  return new UpdateError('pin-unsupported', message, { advice });
}

function countTagNumbers(text: string): number {
  const tag = parsePinTag(text);
  return isNumberedTag(tag) ? countVersionNumbers(tag.version) : 0;
}

function createUnclearTargetError(
  { to }: ReleasePlan,
  { pin }: ServiceUpdate,
  version: string,
  published: readonly string[],
): UpdateError {
  const found = published.length > 0 ? `; ${pin.reference.repository} has ${joinWithAnd(published)}` : '';
  const whole = published
    .map(parsePinTag)
    .find((each) => each.kind === 'release' && each.version !== version);
  const example =
    whole?.kind === 'release'
      ? `${whole.prefix}${whole.version}`
      : `${to}${'.0'.repeat(Math.max(1, 3 - countVersionNumbers(version)))}`;
  const message = `${to} is not a full release version; ${pin.service} is pinned to ${pin.tag.text} (${pin.location.description})${found}`;
  const advice = `Specify the full version, such as --target ${example}.`;
  return new UpdateError('pin-unsupported', message, { advice });
}
