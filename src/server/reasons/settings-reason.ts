import { findMissingSettingsReason } from '../../wire/derived/missing-settings.ts';
import type { AddedReleaseSetting, Reason } from '../../wire/status.ts';

/** Thrown if a value was given for a setting that the release does not list. */
export class UnknownSettingError extends TypeError {}

/**
 * Returns why these settings prevent a release from being installed; null if it can be installed.
 * @throws UnknownSettingError
 */
export function findSettingsBlockingReason(
  version: string,
  settings: readonly AddedReleaseSetting[],
  given: Readonly<Record<string, string>> = {},
): Reason | null {
  const names = settings.map(({ name }) => name);
  if (Object.keys(given).some((name) => !names.includes(name)))
    throw new UnknownSettingError(`The new settings of ${version} are: ${names.join(', ') || 'none'}.`);
  return findMissingSettingsReason(version, settings, given);
}
