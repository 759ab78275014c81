import type { LogLevel } from '../../src/core/progress/event.ts';
import { LegacyResultParser } from '../../src/core/progress/legacy-result-parser.ts';
import { exitCodes, type Outcome } from '../../src/core/progress/outcome.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { differs } from './differs.ts';

/** Texts, or patterns of texts. */
export type Says = readonly (string | RegExp)[];

/** The expected output of a run. */
export interface ExpectedWords {
  exitCode: number;
  /** Texts that the log must contain. */
  says: Says;
  /** Parts of the last line, or its beginning. */
  ends: Says;
  /** Texts that the log must not contain. */
  never?: Says;
}

/** The expected output of a successful run besides its ordinary lines. */
export interface ExpectedLog {
  /** Texts that some line must contain. */
  says?: Says;
  /** One text for each warning, in order; no other warnings are allowed. */
  warns?: Says;
}

export function judgeWords({ exitCode, log, lines }: UpdateResult, expected: ExpectedWords): string[] {
  const last = lines.at(-1);
  const message = last?.message ?? '';
  return [
    ...differs('exit code', expected.exitCode, exitCode),
    ...(last?.phase === 'done' ? [] : [`the last line is not of phase done: "${message}"`]),
    // The server reads the error code and the advice from the last line.
    ...(expected.exitCode < 3 ||
    /^(?:(?:refused|failed|broken) \([a-z-]+\)|cancelled): .*\. Next: \S/.test(message)
      ? []
      : [`the last line has no code or no advice: "${message}"`]),
    ...missing(log, expected.says).map((text) => `the log does not say ${text}`),
    ...missing(message, expected.ends).map((text) => `the last line does not say ${text}: "${message}"`),
    ...(expected.never ?? []).filter((text) => matches(log, text)).map((text) => `the log says ${text}`),
    // A stack trace does not help an operator.
    ...(/^ +at \S+ \(|node:internal|UpdateError/m.test(log) ? ['the log has a stack trace'] : []),
  ];
}

/** A successful run prints no errors, and only the expected warnings. */
export function judgeGoodLog(result: UpdateResult, { says = [], warns = [] }: ExpectedLog): string[] {
  const warnings = messages(result, 'warn');
  const fits =
    warnings.length === warns.length && warns.every((text, at) => matches(warnings[at] ?? '', text));
  return [
    ...missing(result.log, says).map((text) => `the log does not say ${text}`),
    ...messages(result, 'error').map((message) => `the log has an error: ${message}`),
    ...(fits ? [] : [`warnings: expected ${warns.join('; ') || 'none'}, found ${JSON.stringify(warnings)}`]),
  ];
}

const codesOf = (outcome: Outcome): readonly number[] =>
  outcome === 'cancelled' ? [130, 143] : [exitCodes[outcome]];

/** The run has one of these outcomes, and a matching exit code. */
export function judgeOutcome(result: UpdateResult, wanted: readonly Outcome[]): string[] {
  const outcome = endingOf(result);
  if (outcome === null) return [`the run ended with exit code ${result.exitCode} and no outcome`];
  if (!wanted.includes(outcome)) return [`the run ended ${outcome}, not ${wanted.join(' or ')}`];
  return codesOf(outcome).includes(result.exitCode)
    ? []
    : [`the run ended ${outcome} with exit code ${result.exitCode}`];
}

/** A run that leaves the instance broken reports it, and the command to type. */
export function judgeBrokenLog(result: UpdateResult): string[] {
  const last = result.lines.at(-1)?.message ?? '';
  return [
    ...judgeOutcome(result, ['broken']),
    ...(/^broken \([a-z-]+\): .*\. Next: /.test(last) ? [] : [`the last line says "${last}", not broken`]),
    ...(/docker compose .*\bup -d\b/.test(last)
      ? []
      : [`the last line does not say what to type: "${last}"`]),
  ];
}

export function endingOf({ lines }: Pick<UpdateResult, 'lines'>): Outcome | null {
  const last = lines.at(-1);
  return (last && new LegacyResultParser().parseResult(last)?.outcome) ?? null;
}

export const messages = ({ lines }: UpdateResult, level: LogLevel): string[] =>
  lines.filter((line) => line.level === level).map(({ message }) => message);

const matches = (text: string, expected: string | RegExp): boolean =>
  typeof expected === 'string' ? text.includes(expected) : expected.test(text);

const missing = (text: string, expected: Says): Says => expected.filter((each) => !matches(text, each));
