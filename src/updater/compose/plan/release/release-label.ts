import { parseJsonCommand, releaseJsonLabelOf } from '../../../../core/names/product.ts';
import { compareSharedVersionNumbers } from '../../../../core/release/compare-versions.ts';
import { parsePinTag, parseVersionLabel } from '../../../../core/release/pin-tag.ts';
import { releaseSettingsSchema } from '../../../../core/release/release-settings.ts';
import { createJsonTextSchema } from '../../../../core/text/json-text.ts';
import type { Image } from '../../../../engine/objects/container.ts';
import { versionLabel } from '../../../../engine/objects/labels.ts';
import type { ProjectUpdatePlan } from '../prepared-plan.ts';

const settingsOf = (text: string) => createJsonTextSchema(releaseSettingsSchema).safeParse(text).data;
const readers = { ready: parseJsonCommand, preflight: parseJsonCommand, settings: settingsOf };

/**
 * Parses a label of the pulled app image. Undefined if the label is malformed; null if it is missing, or inherited from
 * another product's base image. A label counts as inherited if the version label differs from the tag.
 */
export function parseReleaseLabel<K extends keyof typeof readers>(
  { app, installation }: ProjectUpdatePlan,
  image: Image | undefined,
  kind: K,
): ReturnType<(typeof readers)[K]> | null {
  const text = image?.labels[releaseJsonLabelOf(installation.product, kind)];
  const version = parseVersionLabel(image?.labels[versionLabel]);
  const tag = parsePinTag(app.tag);
  const differs =
    tag.kind === 'release' && version !== null && compareSharedVersionNumbers(version, tag.version) !== 0;
  if (text === undefined || differs || !app.trustsLabel) return null;
  return readers[kind](text) as ReturnType<(typeof readers)[K]>;
}

/** Returns a command from the app image's label, or otherwise from the product's record. Null if neither has one. */
export const findReleaseCommand = (
  plan: ProjectUpdatePlan,
  image: Image | undefined,
  kind: 'ready' | 'preflight',
) => parseReleaseLabel(plan, image, kind) ?? plan.installation.product[kind] ?? null;

export const findMalformedLabelWarnings = (plan: ProjectUpdatePlan, image: Image | undefined): string[] =>
  (['ready', 'preflight', 'settings'] as const)
    .filter((kind) => parseReleaseLabel(plan, image, kind) === undefined)
    .map((kind) => releaseJsonLabelOf(plan.installation.product, kind))
    .map((label) => `the label ${label} on ${plan.app.to} is malformed, so it is ignored`);
