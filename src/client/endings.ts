import { exitCodes } from '../progress/outcome.ts';
import { type EndState, isGoodEnd } from '../wire/codes.ts';
import { withoutLeftBehind } from '../wire/left-behind.ts';
import type { BuildServer, Run, Status } from '../wire/status.ts';
import { names } from './names.ts';
import { count, table } from './text.ts';
import { between, duration, seconds } from './times.ts';

/** How a bad end begins; what follows is in the server's words. */
const heads = (what: string): Record<Exclude<EndState, 'updated' | 'unchanged'>, string> => ({
  refused: `${what} was refused`,
  failed: `${what} failed`,
  broken: `${what} has left ${names().name} broken`,
  cancelled: `${what} was cancelled`,
  crashed: 'The updater crashed',
});

/** What a run is called. */
export const nameOf = ({ kind }: Pick<Run, 'kind'>): string =>
  kind === 'rollback' ? 'the rollback' : 'the update';
const subjectOf = (run: Pick<Run, 'kind'>): string => nameOf(run).replace('t', 'T');

/** `The update failed (pull-unknown)` */
const headOf = (word: string, run: Pick<Run, 'code' | 'kind'>): string =>
  (new Map(Object.entries(heads(subjectOf(run)))).get(word) ?? `${subjectOf(run)} ended “${word}”`) +
  (run.code === null ? '' : ` (${run.code})`);

/** As the updater itself would exit, and 143 for `cancelled`; 1 for a word that a newer server has. */
export function exitCodeOf(outcome: string | null): number {
  if (outcome === 'cancelled') return 143;
  return Object.entries(exitCodes).find(([word]) => word === outcome)?.[1] ?? 1;
}

/** How a followed run has ended: what is said of it, and the exit code. */
export interface Ending {
  lines: string[];
  exitCode: number;
}

/** The end of a run for people. `status` is the server's that told it; null where it did not say. */
export function endingOf(run: Run, status: Status | null): Ending {
  const servers = status?.buildServers ?? [];
  const warnings = withoutLeftBehind(run.warnings, servers).map((warning) => `! ${warning}`);
  const isGood = isGoodEnd(run.outcome);
  const lines = isGood
    ? [goodLine(run, status), ...warnings, ...behindLines(servers)]
    : [...badLines(run), ...warnings];
  return { lines, exitCode: exitCodeOf(run.outcome) };
}

function badLines(run: Run): string[] {
  const word = run.outcome ?? run.state;
  // Who has cancelled it is told in the server's words: `cancelled by anna: nothing was changed`.
  const isTold = word === 'cancelled' && run.code === null && run.message.startsWith('cancelled ');
  return [
    `✗ ${isTold ? `${subjectOf(run)} was ` : `${headOf(word, run)}: `}${endSentence(run.message)}`,
    ...(run.cause === null ? [] : [`  ${run.cause}`]),
    ...(run.advice === null ? [] : [`  Next: ${run.advice}`]),
    ...(run.log === null ? [] : [`  The whole log, on the machine: ${run.log}`]),
  ];
}

const endSentence = (message: string): string => (/[.!?]$/.test(message) ? message : `${message}.`);

function goodLine(run: Run, status: Status | null): string {
  const { name } = names();
  const times = timesOf(run).join(', ');
  const runs = status?.version ?? run.to ?? 'the newest release';
  // Where the tag that the instance follows lags behind, something else runs than was meant.
  if (run.to !== null && run.to !== 'canary' && runs !== run.to)
    return `✓ ${name} ${runs} runs; the tag of its image does not lead to ${run.to} yet. ${times}`.trimEnd();
  if (run.outcome === 'unchanged')
    return `✓ ${name} ${runs} runs already and is well; nothing was replaced. ${times}`.trimEnd();
  return `✓ ${name} ${runs} runs. ${times}`.trimEnd();
}

/** `38 s`, `away for 4 s`: how long it took and how long svc was away, as far as that is known. */
export function timesOf({ startedAt, endedAt, downtimeSeconds }: Run): string[] {
  const took = between(startedAt, endedAt);
  return [
    ...(took === null ? [] : [duration(took)]),
    ...(downtimeSeconds === null ? [] : [`away for ${seconds(downtimeSeconds)}`]),
  ];
}

/** The build servers that an update did not reach, with the command for each. */
function behindLines(servers: readonly BuildServer[]): string[] {
  const behind = servers.filter((server) => server.outdated);
  if (behind.length === 0) return [];
  return [
    `${count(behind.length, 'build server')} ${behind.length === 1 ? 'stays' : 'stay'} behind:`,
    ...table(behind.map(({ name, command }) => [name, command])),
  ];
}

/** The mark at the beginning of a line in its colour. */
export const paintMark = (line: string): string =>
  line.replace(/^[✓✗!](?= )/, (mark) => `\x1b[${{ '✓': 32, '✗': 31 }[mark] ?? 33}m${mark}\x1b[0m`);

/** `v1.4.2 → v1.5.0` */
export const wayOf = ({ from, to }: Pick<Run, 'from' | 'to'>): string =>
  [from, to].filter((version) => version !== null).join(' → ');

/** A bad end in one line, as a part of the status; null after a good one. */
export function badEnd(run: Run): string | null {
  const { outcome } = run;
  if (outcome === null || outcome === 'updated' || outcome === 'unchanged' || outcome === 'cancelled')
    return null;
  return `${headOf(outcome, run)}: ${endSentence(run.message)}`;
}
