import { type Outcome, outcomes } from './outcome.ts';

/** The last line of a run that did not succeed. */
export interface RunEnd {
  outcome: Outcome;
  /** Lower-case letters, digits and `-`. Null for the outcomes `usage`, `cancelled` and `crashed`. */
  code: string | null;
  /** The state of the instance: one sentence without its full stop. */
  state: string;
  /** The release that must be installed first, `v1.5.0`, from the end of the state. Only with the code `upgrade-step`. */
  requiredRelease?: string;
  /** What to do next, one or two sentences. */
  advice: string | null;
}

const endForm = /^([a-z]+)(?: \(([a-z][a-z0-9-]*)\))?: (.*?)(?:\. Next: (.*))?$/s;
const stepForm = /; (v\d+\.\d+\.\d+) must be installed first$/;

/** The state of an instance whose update was refused with the code `upgrade-step`. */
export const stateBeforeStep = (state: string, step: string): string =>
  `${state}; ${step} must be installed first`;

/**
 * The message of the last line (docs/contract.md 6.11): `failed (pull-unknown): nothing was changed, v1.4.2 runs on.
 * Next: Check that …`. `parseEnd` gives back the same outcome, code, release and advice, whatever paths or container names
 * the message contains.
 */
export function formatEnd({ outcome, code, state, advice }: Omit<RunEnd, 'requiredRelease'>): string {
  const head = code === null ? outcome : `${outcome} (${code})`;
  // The first `. Next: ` begins the advice, so the state must not contain one.
  const said = oneLine(state).replaceAll('. Next: ', '. next: ');
  return advice === null ? `${head}: ${said}` : `${head}: ${said}. Next: ${oneLine(advice)}`;
}

/** Reads a message that `formatEnd` wrote. Null for any other message, such as that of a successful run. */
export function parseEnd(message: string): RunEnd | null {
  const [, word, code = null, state = '', advice = null] = endForm.exec(message) ?? [];
  const outcome = outcomes.find((known) => known === word);
  if (outcome === undefined) return null;
  const step = code === 'upgrade-step' ? stepForm.exec(state)?.[1] : undefined;
  return { outcome, code, state, advice, ...(step === undefined ? {} : { requiredRelease: step }) };
}

/** The log splits a message at line breaks, and the end must stay on one line. */
const oneLine = (text: string): string =>
  text.replace(/\s+/g, (blank) => (/[\r\n]/.test(blank) ? ' ' : blank));
