import type { Run } from '../../wire/status.ts';

/** Lines of the log that a report ends with. */
export const reportedLines = 20;

/** A line of the updater's log as the stream has it; null where it is none. */
export function lineText(line: unknown): string | null {
  const { time, level, phase, message } = (line ?? {}) as Record<string, unknown>;
  if (typeof message !== 'string') return null;
  return [time, typeof level === 'string' ? level.toUpperCase() : level, phase, message]
    .filter((piece) => typeof piece === 'string' && piece !== '')
    .join(' ');
}

/** Facts for an issue, in Markdown, and in English whatever the language of the page. */
export function reportText(run: Run, version: string | null, lines: readonly string[]): string {
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
  const last = lines.slice(-reportedLines);
  // Longer than any in the lines, so that none of them closes it.
  const longest = Math.max(2, ...last.flatMap((line) => line.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  const log = last.length === 0 ? [] : ['', `${fence}text`, ...last, fence];
  return [...known.map(([name, fact]) => `- ${name}: ${fact}`), ...warnings, ...log, ''].join('\n');
}
