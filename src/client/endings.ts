import { exitCodes } from '../core/progress/outcome.ts';
import { type EndState, isGoodEnd } from '../wire/codes.ts';
import { withoutLeftBehind } from '../wire/left-behind.ts';
import type { BuildServer, Run, Status } from '../wire/status.ts';
import { names } from './names.ts';
import { asSentence, count, table } from './text.ts';
import { ageSince, between, durationText, secondsText } from './times.ts';

/** The first words of a failure. The server's message follows. */
const heads = (what: string): Record<Exclude<EndState, 'updated' | 'unchanged'>, string> => ({
  refused: `${what} refused`,
  failed: `${what} failed`,
  broken: `${what} failed and ${names().name} needs attention`,
  cancelled: `${what} cancelled`,
  crashed: 'The updater crashed',
});

/** The run in a sentence. */
export const runName = ({ kind }: Pick<Run, 'kind'>): string =>
  kind === 'rollback' ? 'the rollback' : 'the update';
const subjectOf = ({ kind }: Pick<Run, 'kind'>): string => (kind === 'rollback' ? 'Rollback' : 'Update');

/** `Update failed (pull-unknown)` */
const headOf = (word: string, { code }: Pick<Run, 'code'>, subject: string): string =>
  (new Map(Object.entries(heads(subject))).get(word) ?? `${subject} ended with the outcome "${word}"`) +
  (code === null ? '' : ` (${code})`);

/** The updater's own exit code, 143 for `cancelled`, 1 for an outcome that only a newer server has. */
export function exitCodeOf(outcome: string | null): number {
  if (outcome === 'cancelled') return 143;
  return Object.entries(exitCodes).find(([word]) => word === outcome)?.[1] ?? 1;
}

/** The result of a followed run: the lines to print and the exit code. */
export interface EndReport {
  lines: string[];
  exitCode: number;
}

/** The result of a run as text. `status` is null if the server did not answer. */
export function endReportOf(run: Run, status: Status | null): EndReport {
  const servers = status?.buildServers ?? [];
  const warnings = withoutLeftBehind(run.warnings, servers).map((warning) => `! ${warning}`);
  const isGood = isGoodEnd(run.outcome);
  const lines = isGood
    ? [goodLine(run, status), ...warnings, ...outdatedLines(servers)]
    : [...badLines(run), ...warnings];
  return { lines, exitCode: exitCodeOf(run.outcome) };
}

function badLines(run: Run): string[] {
  const word = run.outcome ?? run.state;
  const subject = subjectOf(run);
  // The server's message contains the user: `cancelled by anna: nothing was changed`.
  const hasUser = word === 'cancelled' && run.code === null && run.message.startsWith('cancelled ');
  return [
    hasUser
      ? `✗ ${asSentence(`${subject} ${run.message}`)}`
      : `✗ ${headOf(word, run, subject)}. ${asSentence(run.message)}`,
    ...(run.cause === null ? [] : [`  ${run.cause}`]),
    ...(run.advice === null ? [] : [`  Next: ${run.advice}`]),
    ...(run.log === null ? [] : [`  To read the full log on the server, run: ${run.log}`]),
  ];
}

function goodLine(run: Run, status: Status | null): string {
  const { name } = names();
  const [took, downtime] = [durationOf(run), downtimeOf(run)];
  const facts = timesOf(run).length === 0 ? '' : ` (${timesOf(run).join(', ')})`;
  const times = `${took === null ? '' : ` in ${took}`}${downtime === null ? '' : ` (${downtime})`}`;
  const running = status?.version ?? run.to ?? 'the latest release';
  // The tag that the instance follows may not point to the target yet.
  if (run.to !== null && run.to !== 'canary' && running !== run.to)
    return `✓ ${name} ${running} is running; its image tag does not point to ${run.to} yet${facts}`;
  if (run.outcome === 'unchanged')
    return `✓ ${name} ${running} is already running and healthy; nothing was replaced.`;
  return `✓ ${run.kind === 'rollback' ? 'Rolled back' : 'Updated'} to ${running}${times}`;
}

const durationOf = ({ startedAt, endedAt }: Run): string | null => {
  const took = between(startedAt, endedAt);
  return took === null ? null : durationText(took);
};
const downtimeOf = ({ downtimeSeconds }: Run): string | null =>
  downtimeSeconds === null ? null : `${secondsText(downtimeSeconds)} downtime`;

/** `38 s`, `4 s downtime`, if they are known. */
export const timesOf = (run: Run): string[] =>
  [durationOf(run), downtimeOf(run)].filter((text) => text !== null);

/** The outdated build servers, with the update command of each. */
function outdatedLines(servers: readonly BuildServer[]): string[] {
  const outdated = servers.filter((server) => server.outdated);
  if (outdated.length === 0) return [];
  return [
    `${count(outdated.length, 'build server')} ${outdated.length === 1 ? 'is' : 'are'} outdated:`,
    ...table(outdated.map(({ name, command }) => [name, command])),
  ];
}

/** Colours the mark at the beginning of a line. */
export const paintMark = (line: string): string =>
  line.replace(/^[✓✗!](?= )/, (mark) => `\x1b[${{ '✓': 32, '✗': 31 }[mark] ?? 33}m${mark}\x1b[0m`);

/** `v1.4.2 → v1.5.0` */
export const versionsOf = ({ from, to }: Pick<Run, 'from' | 'to'>): string =>
  [from, to].filter((version) => version !== null).join(' → ');

/** The line of the status about a failed run; null after any other. */
export function failureLine(run: Run, now: string): string | null {
  const { outcome } = run;
  if (outcome === null || outcome === 'updated' || outcome === 'unchanged' || outcome === 'cancelled')
    return null;
  const passed = ageSince(run.endedAt, now);
  const head = headOf(outcome, run, `Last ${runName(run).replace('the ', '')}`);
  return `${head}${passed === '' ? '' : `, ${passed} ago`}. ${asSentence(run.message)}`;
}
