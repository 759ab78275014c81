import type { Automatic } from '../../wire/status.ts';

/** Changes to the settings of automatic updates. Omitted settings remain unchanged. */
export type AutomaticUpdateSettingsChange = {
  [Name in keyof AutomaticUpdateSettings]?: AutomaticUpdateSettings[Name] | undefined;
};

/** Settings of automatic updates (docs/contract.md 8.37). */
export type AutomaticUpdateSettings = Omit<Automatic, 'nextAt' | 'blockedBy'>;

export const applyAutomaticUpdateDefaults = (
  given: AutomaticUpdateSettingsChange,
): AutomaticUpdateSettings => ({
  enabled: false,
  from: '02:00',
  to: '05:00',
  timeZone: readServerTimeZone(),
  days: [],
  minAgeHours: 72,
  includeMajors: false,
  rehearse: false,
  ...omitUndefinedSettings(given),
});

export const omitUndefinedSettings = (
  choice: AutomaticUpdateSettingsChange,
): Partial<AutomaticUpdateSettings> =>
  Object.fromEntries(Object.entries(choice).filter(([, value]) => value !== undefined));

/** Returns UTC if `TZ` is not a known time zone: Node then uses UTC, but reports no usable name. */
export function readServerTimeZone(): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return isTimeZoneName(`${timeZone}`) ? timeZone : 'UTC';
}

export function isTimeZoneName(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}
