import type { AutomaticChoice } from '../../wire/reader.ts';
import type { Automatic, Status } from '../../wire/status.ts';

/** Fields of a settings form, each as typed by the user. */
interface FormSettings extends Omit<Automatic, 'nextAt' | 'blockedBy' | 'minAgeHours'> {
  channel: string;
  /** Minimum age in days; the server uses hours. */
  age: string;
}

/** Unsaved changes in a settings form. */
export type SettingsDraft = Partial<FormSettings>;

/** Returns the saved settings, without automatic updates if the server does not support them. */
export function savedSettings({ channel, automatic }: Status): SettingsDraft {
  if (automatic === null) return { channel };
  const { nextAt: _, blockedBy: __, minAgeHours, ...rest } = automatic;
  return { channel, ...rest, age: String(minAgeHours / 24) };
}

/** Creates the request for the server, with only the changed settings. The server validates the values. */
export function automaticChoiceOf({ channel: _, age, ...rest }: SettingsDraft): AutomaticChoice {
  const hours = age === undefined ? {} : { minAgeHours: Math.round(Number(age) * 24) };
  return { ...rest, ...hours };
}
