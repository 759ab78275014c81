import type { Run } from '../../wire/status.ts';

/** Maximum number of log lines at the end of a report. */
export const maxReportedLogLines = 20;

/** Returns null if the value from the event stream is not a log line. */
export function formatLogLine(line: unknown): string | null {
  const { time, level, phase, message } = (line ?? {}) as Record<string, unknown>;
  if (typeof message !== 'string') return null;
  return [time, typeof level === 'string' ? level.toUpperCase() : level, phase, message]
    .filter((piece) => typeof piece === 'string' && piece !== '')
    .join(' ');
}

/** Formats a bug report in Markdown, always in English. */
export function formatRunReport(run: Run, version: string | null, lines: readonly string[]): string {
  const facts: [string, string | null][] = [
    [run.kind === 'rollback' ? 'Rollback' : 'Update', `${run.from ?? '?'} → ${run.to ?? '?'}`],
    ['Running version', version],
    ['Outcome', run.outcome],
    ['Code', run.code],
    ['Phase', run.phase],
    ['Message', run.message],
    ['Cause', run.cause],
    ['Advice', run.advice],
    ['Started', run.startedAt],
    ['Ended', run.endedAt],
    ['Downtime', run.downtimeSeconds === null ? null : `${run.downtimeSeconds} s`],
    ['Run', run.id],
  ];
  const known = facts.filter(([, fact]) => fact !== null && fact !== '');
  const warnings = run.warnings.map((warning) => `- Warning: ${warning}`);
  const last = lines.slice(-maxReportedLogLines);
  // The fence must be longer than any sequence of backticks in the lines. Otherwise, a line could close the code block.
  const longest = Math.max(2, ...last.flatMap((line) => line.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  const log = last.length === 0 ? [] : ['', `${fence}text`, ...last, fence];
  return [...known.map(([name, fact]) => `- ${name}: ${fact}`), ...warnings, ...log, ''].join('\n');
}
