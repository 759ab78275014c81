import { exitCodes } from '../../core/progress/outcome.ts';
import { isOtherVersionRunning, presentRunResult } from '../../presentation/present-result.ts';
import { isSuccessfulOutcome, lookUpByCode } from '../../wire/codes.ts';
import type { Run, Status } from '../../wire/status.ts';
import { countMillisecondsBetween } from '../../wire/texts/times.ts';
import { createClientTextsAndFormats } from './client-texts-and-formats.ts';
import { formatPresentationParts } from './status-lines.ts';

/** Returns the noun for a run. A run of a kind that this client does not know is called an update. */
export const runNounOf = ({ kind }: Pick<Run, 'kind'>): string =>
  kind === 'rollback' ? 'rollback' : 'update';

/** Returns the exit code of the updater for an outcome, 143 for `cancelled`, or 1 for an unknown outcome. */
export function exitCodeOf(outcome: string | null): number {
  if (outcome === 'cancelled') return 143;
  return lookUpByCode(exitCodes, outcome ?? '') ?? 1;
}

export interface ClientCommandResult {
  lines: string[];
  exitCode: number;
}

/** @param status - null if the server sent no status for admins */
export function formatRunResult(run: Run, status: Status | null): ClientCommandResult {
  const t = createClientTextsAndFormats(status?.now ?? run.endedAt ?? run.startedAt);
  const version = status?.version ?? null;
  const { heading, about, parts } = presentRunResult(run, { status, version }, t);
  const took = isOtherVersionRunning(run, version)
    ? null
    : countMillisecondsBetween(run.startedAt, run.endedAt);
  const time = took === null ? '' : ` in ${t.duration(took)}`;
  const mark = isSuccessfulOutcome(run.outcome) ? '✓' : '✗';
  const text =
    run.outcome === 'updated'
      ? `${heading}${time}${about && ` (${about})`}`
      : formatRunResultSummary(run, status);
  return {
    lines: [`${mark} ${text}`, ...formatPresentationParts(parts, t)],
    exitCode: exitCodeOf(run.outcome),
  };
}

/**
 * Formats the heading, the error code and the state of the instance.
 * @param age - time since the end of the run; omitted from the text if empty
 */
export function formatRunResultSummary(run: Run, status: Status | null, age = ''): string {
  const t = createClientTextsAndFormats(status?.now ?? run.startedAt);
  const { heading, about } = presentRunResult(run, { status, version: status?.version ?? null }, t);
  const code = run.code === null ? '' : ` (${run.code})`;
  return `${heading}${code}${age && `, ${age} ago`}. ${about}`.trim();
}

/** Colors `✓`, `✗` or `!` at the beginning of a line. */
export const colorLineMark = (line: string): string =>
  line.replace(/^[✓✗!](?= )/, (mark) => `\x1b[${{ '✓': 32, '✗': 31 }[mark] ?? 33}m${mark}\x1b[0m`);
