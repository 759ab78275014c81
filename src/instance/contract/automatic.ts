import type { Automatic } from '../../wire/status.ts';

/** What a person may set of it; what is left out stays. */
export type AutomaticChoice = {
  [Name in keyof AutomaticSettings]?: AutomaticSettings[Name] | undefined;
};

/** What is set of updates that start by themselves (docs/contract.md 8.37). */
export type AutomaticSettings = Omit<Automatic, 'nextAt' | 'blockedBy'>;

/** As usual, but for what is said. */
export const automaticSettings = (said: AutomaticChoice): AutomaticSettings => ({
  enabled: false,
  from: '02:00',
  to: '05:00',
  timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  days: [],
  minAgeHours: 72,
  includeMajors: false,
  ...whatIsSaid(said),
});

export const whatIsSaid = (choice: AutomaticChoice): Partial<AutomaticSettings> =>
  Object.fromEntries(Object.entries(choice).filter(([, value]) => value !== undefined));

export function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}
