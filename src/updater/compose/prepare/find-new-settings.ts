import { randomBytes, randomUUID } from 'node:crypto';
import { createVariableLookup } from '../../../core/compose/variables.ts';
import { isContainerOfImage } from '../../../engine/comparison/same-image.ts';
import type { Image } from '../../../engine/objects/container.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { Installation } from '../inspect/installation.ts';
import type { ProjectUpdatePlan } from '../plan/prepared-plan.ts';
import { type NewSetting, planNewSettings } from '../plan/release/plan-new-settings.ts';
import { parseReleaseLabel } from '../plan/release/release-label.ts';

const generators = {
  hex32: () => randomBytes(32).toString('hex'),
  'base64-32': () => randomBytes(32).toString('base64'),
  uuid: randomUUID,
};

/**
 * Reads new settings from a release's `release.json`, or otherwise from its app image's label. The label can be read
 * only after the pull.
 */
export function findNewSettings(
  plan: ProjectUpdatePlan,
  image?: Image,
): { settings: NewSetting[]; warnings: string[] } {
  const { installation, expected, given, app } = plan;
  const { containers } = installation.app;
  const isKnown = image !== undefined || (expected?.settings && app.tag !== app.pin.reference.tag);
  if (given === null || !isKnown) return { settings: [], warnings: [] };
  if (containers.every((container) => isContainerOfImage(container, image))) {
    const ignored = `${app.to} is already installed, so the settings passed to this run are not written`;
    return { settings: [], warnings: given.size > 0 ? [ignored] : [] };
  }
  const listed = (expected?.settings ?? parseReleaseLabel(plan, image, 'settings') ?? []).filter(
    ({ name }) => name !== installation.versionVariable,
  );
  const variables = createVariableLookup(installation.files.envFiles);
  const isSet = (name: string) =>
    [variables(name)?.text, ...containers.map(({ env }) => env.get(name))].some(Boolean);
  const settings = planNewSettings(listed, given, isSet, (generator) => generators[generator]());
  return { settings, warnings: findUnusedSettings(installation, settings) };
}

/** Warns about new settings that a compose file written by the user passes to no service. */
function findUnusedSettings({ kind, files }: Installation, settings: readonly NewSetting[]): string[] {
  const texts = [...files.composeFiles, ...(files.linkedFiles ?? [])].map(({ text }) => text);
  const isUsed = (name: string) => texts.some((text) => text.includes(name) || text.includes('env_file'));
  const names = settings.flatMap(({ name }) => (kind === 'generated' || isUsed(name) ? [] : [name]));
  if (names.length === 0) return [];
  return [
    `your compose files do not use ${joinWithAnd(names)}: add the new settings to the environment of the app`,
  ];
}
