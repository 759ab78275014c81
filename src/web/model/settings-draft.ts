import type { AutomaticUpdatesRequestBody } from '../../wire/api-client/update-api-client.ts';
import type { Automatic, Status } from '../../wire/status.ts';

/** Values in the settings form, as typed by the user. */
interface FormSettings extends Omit<Automatic, 'nextAt' | 'blockedBy' | 'minAgeHours'> {
  channel: string;
  /** Minimum age of a release in days. The server uses hours. */
  age: string;
}

/** Unsaved changes in a settings form. */
export type SettingsDraft = Partial<FormSettings>;

/** Returns the saved settings. If the server does not support automatic updates, returns only the channel. */
export function savedSettingsOf({ channel, automatic }: Status): SettingsDraft {
  if (automatic === null) return { channel };
  const { nextAt: _, blockedBy: __, minAgeHours, ...rest } = automatic;
  return { channel, ...rest, age: String(minAgeHours / 24) };
}

/** Returns only the changed settings. The server validates them. */
export function createAutomaticUpdatesBody({
  channel: _,
  age,
  ...rest
}: SettingsDraft): AutomaticUpdatesRequestBody {
  const hours = age === undefined ? {} : { minAgeHours: Math.round(Number(age) * 24) };
  return { ...rest, ...hours };
}
