import type { ProgressEvent } from './event.ts';
import { isSuccess, outcomes } from './outcome.ts';
import type { RunResult } from './run-result.ts';

const outcomeForm = /^[a-z]+(?=[\s:;,.]|$)/;
const lineForm = /^[a-z]+(?: \(([a-z][a-z0-9-]*)\))?: (.*?)(?:\. Next: (.*))?$/s;
const stepForm = /; (v\d+\.\d+\.\d+) must be installed first$/;

/**
 * Parses the result of a run from text logs, and from logs of release 1.0.0, whose last event has no `result`. No other
 * code parses the messages of the updater.
 */
export class LegacyResultParser {
  #error: string | null = null;

  /** Returns the result if the event is the last event of the run; otherwise, returns null. */
  parseResult({ level, phase, message }: ProgressEvent): RunResult | null {
    const word = outcomeForm.exec(message)?.[0];
    const outcome = phase === 'done' ? outcomes.find((known) => known === word) : undefined;
    if (outcome === undefined) {
      if (level === 'error' && phase !== 'done') this.#error = message;
      return null;
    }
    const result = { outcome, code: null, message, detail: this.#error, advice: null, facts: {} };
    const [, code = null, state, advice = null] = lineForm.exec(message) ?? [];
    if (state === undefined || isSuccess(outcome)) return result;
    const requiredRelease = code === 'upgrade-step' ? stepForm.exec(state)?.[1] : undefined;
    const facts = requiredRelease === undefined ? {} : { requiredRelease };
    return { ...result, code, message: state, advice, facts };
  }
}
