import { type Outcome, outcomes } from './outcome.ts';

/** What the last line of a run says that did not do what was asked. */
export interface RunEnd {
  outcome: Outcome;
  /** Lower-case letters, digits and `-`; null for `usage`, and where the run was cancelled or the updater has crashed. */
  code: string | null;
  /** How the instance stands: one sentence without its full stop. */
  state: string;
  /** The release to go to first, `v1.5.0`, by the last words of the state: of the code `upgrade-step` alone. */
  requiredRelease?: string;
  /** What a person does next, one or two sentences. */
  advice: string | null;
}

const endForm = /^([a-z]+)(?: \(([a-z][a-z0-9-]*)\))?: (.*?)(?:\. Next: (.*))?$/s;
const stepForm = /; (v\d+\.\d+\.\d+) has to come first$/;

/** The state of an instance whose update was refused with the code `upgrade-step`. */
export const stateBeforeStep = (state: string, step: string): string => `${state}; ${step} has to come first`;

/**
 * The end as the sentence of its line (docs/contract.md 6.11): `failed (pull-unknown): nothing was changed, v1.4.2 runs
 * on. Next: See that …`. Whatever a path or a container's name in it may say, `parseEnd` gives the same outcome, code,
 * step and advice back.
 */
export function formatEnd({ outcome, code, state, advice }: Omit<RunEnd, 'requiredRelease'>): string {
  const head = code === null ? outcome : `${outcome} (${code})`;
  // The first `. Next: ` begins the advice, so the state must have none.
  const said = oneLine(state).replaceAll('. Next: ', '. next: ');
  return advice === null ? `${head}: ${said}` : `${head}: ${said}. Next: ${oneLine(advice)}`;
}

/** The end that `formatEnd` wrote; null for any other sentence, such as that of a run that did what was asked. */
export function parseEnd(message: string): RunEnd | null {
  const [, word, code = null, state = '', advice = null] = endForm.exec(message) ?? [];
  const outcome = outcomes.find((known) => known === word);
  if (outcome === undefined) return null;
  const step = code === 'upgrade-step' ? stepForm.exec(state)?.[1] : undefined;
  return { outcome, code, state, advice, ...(step === undefined ? {} : { requiredRelease: step }) };
}

/** The log makes a line of its own of each line of a message, and the end is one line. */
const oneLine = (text: string): string =>
  text.replace(/\s+/g, (blank) => (/[\r\n]/.test(blank) ? ' ' : blank));
