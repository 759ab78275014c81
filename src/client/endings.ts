import { exitCodes } from '../core/progress/outcome.ts';
import { isOther, presentResult } from '../presentation/present-result.ts';
import { isGoodEnd, known } from '../wire/codes.ts';
import type { Run, Status } from '../wire/status.ts';
import { between } from '../wire/times.ts';
import { partLines } from './status-lines.ts';
import { clientWording } from './times.ts';

/** The run as a noun in a sentence. A newer server may have other kinds. */
export const runNoun = ({ kind }: Pick<Run, 'kind'>): string => (kind === 'rollback' ? 'rollback' : 'update');

/** The updater's own exit code, 143 for `cancelled`, 1 for an outcome that only a newer server has. */
export function exitCodeOf(outcome: string | null): number {
  if (outcome === 'cancelled') return 143;
  return known(exitCodes, outcome ?? '') ?? 1;
}

/** How a command ends: the lines to print and the exit code. */
export interface EndReport {
  lines: string[];
  exitCode: number;
}

/** The result of a run as text. `status` is null if the server did not answer. */
export function endReportOf(run: Run, status: Status | null): EndReport {
  const t = clientWording(status?.now ?? run.endedAt ?? run.startedAt);
  const version = status?.version ?? null;
  const { heading, about, parts } = presentResult(run, { status, version }, t);
  const took = isOther(run, version) ? null : between(run.startedAt, run.endedAt);
  const time = took === null ? '' : ` in ${t.duration(took)}`;
  const mark = isGoodEnd(run.outcome) ? '✓' : '✗';
  const text =
    run.outcome === 'updated' ? `${heading}${time}${about && ` (${about})`}` : resultText(run, status);
  return { lines: [`${mark} ${text}`, ...partLines(parts, t)], exitCode: exitCodeOf(run.outcome) };
}

/** The heading of a result, its code and the state of the instance. @param age how long ago the run ended */
export function resultText(run: Run, status: Status | null, age = ''): string {
  const t = clientWording(status?.now ?? run.startedAt);
  const { heading, about } = presentResult(run, { status, version: status?.version ?? null }, t);
  const code = run.code === null ? '' : ` (${run.code})`;
  return `${heading}${code}${age && `, ${age} ago`}. ${about}`.trim();
}

/** Colours the mark at the beginning of a line. */
export const paintMark = (line: string): string =>
  line.replace(/^[✓✗!](?= )/, (mark) => `\x1b[${{ '✓': 32, '✗': 31 }[mark] ?? 33}m${mark}\x1b[0m`);
