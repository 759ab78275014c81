import type { AutomaticChoice } from '../../wire/reader.ts';
import type { Automatic, Status } from '../../wire/status.ts';

/** The fields of a settings form, each as the user types it. */
interface FormSettings extends Omit<Automatic, 'nextAt' | 'blockedBy' | 'minAgeHours'> {
  channel: string;
  /** In days; the server counts hours. */
  age: string;
}

/** Unsaved changes. */
export type Draft = Partial<FormSettings>;

/** The saved settings; without automatic updates if the server does not support them. */
export function savedSettings({ channel, automatic }: Status): Draft {
  if (automatic === null) return { channel };
  const { nextAt: _, blockedBy: __, minAgeHours, ...rest } = automatic;
  return { channel, ...rest, age: String(minAgeHours / 24) };
}

/** The request for the server: only changed settings, which the server validates. */
export function choiceOf({ channel: _, age, ...rest }: Draft): AutomaticChoice {
  const hours = age === undefined ? {} : { minAgeHours: Math.round(Number(age) * 24) };
  return { ...rest, ...hours };
}
