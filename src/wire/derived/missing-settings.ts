import type { NewReleaseSetting } from '../status.ts';

type Given = Readonly<Record<string, string>>;

/** The update cannot start without values for these settings. */
export const findMissingSettings = (
  settings: readonly NewReleaseSetting[],
  given: Given = {},
): NewReleaseSetting[] =>
  settings.filter(
    ({ name, required, isSet, generated, default: usual }) =>
      required && !isSet && !generated && !usual && !(Object.hasOwn(given, name) && given[name]),
  );

/** Null if the values are sufficient. */
export function findMissingSettingsReason(
  version: string,
  settings: readonly NewReleaseSetting[],
  given: Given = {},
) {
  const names = findMissingSettings(settings, given).map(({ name }) => name);
  const message = `${version} needs a value for ${names.join(', ')}`;
  return names.length === 0 ? null : ({ code: 'settings-missing', message } as const);
}
