import type { OfferedSetting } from '../status.ts';

type Given = Readonly<Record<string, string>>;

/** Returns the required settings that have no value, so that the update cannot start. */
export const findMissingSettings = (
  settings: readonly OfferedSetting[],
  given: Given = {},
): OfferedSetting[] =>
  settings.filter(
    ({ name, required, isSet, generated, default: usual }) =>
      required && !isSet && !generated && !usual && !(Object.hasOwn(given, name) && given[name]),
  );

/** Returns the reason why a release cannot be installed with these values; null if the release can be installed. */
export function findMissingSettingsReason(
  version: string,
  settings: readonly OfferedSetting[],
  given: Given = {},
) {
  const names = findMissingSettings(settings, given).map(({ name }) => name);
  const message = `${version} needs a value for ${names.join(', ')}`;
  return names.length === 0 ? null : ({ code: 'settings-missing', message } as const);
}
