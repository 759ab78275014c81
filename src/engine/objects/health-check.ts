import { type Json, toList, toObject } from './json.ts';

/** The engine's defaults for health checks; durations are in nanoseconds. */
const usual = { Interval: 30e9, Timeout: 30e9, Retries: 3 };

/**
 * @param config - `Config.Healthcheck` of an inspection
 * @param log - `State.Health.Log` of an inspection, oldest entry first
 */
export function toHealthCheck(config: Json, log: unknown) {
  const of = (key: keyof typeof usual) => Number(config[key] || usual[key]);
  const results = (toList(log) as Json[]).map(toObject);
  const last = results.at(-1);
  return {
    /** Longest time in milliseconds from the container's start until the engine reports it as healthy or unhealthy. */
    longestDecisionMs:
      (Number(config.StartPeriod ?? 0) + of('Retries') * (of('Interval') + of('Timeout'))) / 1e6,
    /** Shortest time in milliseconds in which a healthy container can become unhealthy. */
    shortestDecisionMs: ((of('Retries') - 1) * of('Interval')) / 1e6,
    /**
     * Exit code and last output line of the last check; null if that check did not fail. Durations are removed, so that
     * repeated failures have the same text.
     */
    failureText: last === undefined || last.ExitCode === 0 ? null : failure(last),
    /** Whether all checks in the log failed because their program could not be started. */
    cannotRun: results.length > 0 && results.every(couldNotRun),
  };
}

/** Formats the first line of a health check's output in parentheses; empty if there is no output. */
export const formatHealthCheckOutput = (output: string): string =>
  output.trim() && ` (${output.trim().split('\n', 1)[0]?.slice(0, 200)})`;

const linesOf = ({ Output }: Json): string[] =>
  String(Output ?? '')
    .split(/[\r\n]+/)
    .filter((line) => line.trim() !== '');

const failure = (result: Json): string =>
  `${result.ExitCode} ${(linesOf(result).at(-1) ?? '').replace(/\d+(?:\.\d+)? ?m?s\b/g, '').slice(0, 200)}`;

/**
 * Matches a shell's message about a missing program. Exit code 127 is not sufficient, because `|| exit 1` often hides
 * it.
 */
const notFound = /^\S*sh: (?:(?:line )?\d+: )?\S+: (?:command )?not found$/;

/**
 * Checks whether a check's program could not be started. Exit code -1 may also mean a timeout, so the output is checked
 * too.
 */
function couldNotRun(result: Json): boolean {
  const lines = linesOf(result);
  if (result.ExitCode === -1) return !/^Health check exceeded timeout/.test(lines[0] ?? '');
  if (result.ExitCode === 126 || result.ExitCode === 127) return true;
  return result.ExitCode !== 0 && lines.length > 0 && lines.every((line) => notFound.test(line));
}
