import type { AddedReleaseSetting } from '../status.ts';

type Given = Readonly<Record<string, string>>;

/** Returns the settings that need a value before the update can start. */
export const listMissingSettings = (
  settings: readonly AddedReleaseSetting[],
  given: Given = {},
): AddedReleaseSetting[] =>
  settings.filter(
    ({ name, required, isSet, generated, default: usual }) =>
      required && !isSet && !generated && !usual && !(Object.hasOwn(given, name) && given[name]),
  );

/** Returns null if no required setting is missing. */
export function findMissingSettingsReason(
  version: string,
  settings: readonly AddedReleaseSetting[],
  given: Given = {},
) {
  const names = listMissingSettings(settings, given).map(({ name }) => name);
  const message = `${version} needs a value for ${names.join(', ')}`;
  return names.length === 0 ? null : ({ code: 'settings-missing', message } as const);
}
