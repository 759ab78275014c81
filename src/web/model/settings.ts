import type { AutomaticChoice } from '../../wire/reader.ts';
import type { Status } from '../../wire/status.ts';

/** The fields of a form of settings, by their names, each as a person types it. */
export interface Settings {
  channel: string;
  enabled: boolean;
  from: string;
  to: string;
  days: readonly string[];
  timeZone: string;
  /** In days, where the server counts hours. */
  age: string;
  includeMajors: boolean;
}

/** What a person has changed and not saved yet. */
export type Draft = Partial<Settings>;

/** What is set; of updates by themselves nothing where the server is too old for them. */
export function settingsOf({ channel, automatic }: Status): Draft {
  if (automatic === null) return { channel };
  const { nextAt: _, blockedBy: __, minAgeHours: age, ...rest } = automatic;
  return { channel, ...rest, age: String(age / 24) };
}

/** What is asked of the server, which says what of it cannot be; what was not changed stays. */
export function choiceOf({ channel: _, age, ...rest }: Draft): AutomaticChoice {
  const hours = age === undefined ? {} : { minAgeHours: Math.round(Number(age) * 24) };
  return { ...rest, ...hours } as AutomaticChoice;
}
