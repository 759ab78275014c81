import { composeCommand } from '../../progress/compose-command.ts';
import { formatEnd, parseEnd, type RunEnd, stateBeforeStep } from '../../progress/end-line.ts';
import { exitCodes, type Outcome } from '../../progress/outcome.ts';
import { svc } from '../../progress/product.ts';
import { Cancelled, Interrupted } from '../../progress/stops.ts';
import { ofProduct, UpdateError } from '../../progress/update-error.ts';
import { type EndingFacts, savedMeanwhile, withOwnCommands } from './ending-facts.ts';
import type { Fields, Log } from './log.ts';
import { and } from './wording.ts';

/** How a run ended, or is about to. */
export interface Ending {
  outcome: Outcome;
  exitCode: number;
  /** The last line of the log. */
  message: string;
  /** What that line has for programs besides. */
  fields?: Fields;
}

/** How a run ended that did not do what was asked, and what to say of it. */
interface Failure extends Ending {
  /** What explains it, for the log before the last line. */
  lines: readonly string[];
  code: string | null;
  /** The release to go to first, where one has to come first. */
  requiredRelease: string | null;
  advice: string;
  fields: Fields;
}

/** Why it ended, what state the instance is in, and what to type next. `cancelledBy` is a signal's number. */
export function endingOf(error: unknown, facts: EndingFacts, cancelledBy = 15): Failure {
  const { touched, project, product = svc } = facts;
  const again = (text: string) =>
    facts.isRollback ? text.replace('un the update again', 'un rollback --yes again') : text;
  const own = (text: string) =>
    again(ofProduct(project === null ? text : withOwnCommands(text, project), product));
  if (error instanceof Cancelled || error instanceof Interrupted) {
    const advice = again('Run the update again when it suits.');
    const end = { outcome: 'cancelled', code: null, state: nothingChanged(facts), advice } as const;
    return failure(end, 128 + cancelledBy);
  }
  if (!(error instanceof UpdateError)) {
    const stands = touched
      ? own('containers may be half replaced: see docker compose ps')
      : 'no container was touched and the files are as they were';
    const state = `a bug in the updater; ${stands}`;
    const end = { outcome: 'crashed', code: null, state, advice: 'Please report the lines above.' } as const;
    const lines = [error instanceof Error ? (error.stack ?? error.message) : String(error)];
    return failure(end, exitCodes.crashed, lines);
  }
  const advice = ['broken', 'unhealthy', 'containers-not-restored'].includes(error.code)
    ? again(adviceWhenBroken(facts, error))
    : own(error.advice);
  const { outcome, code, requiredRelease } = error;
  const stands = stateAfter(error, facts);
  const state = requiredRelease === null ? stands : stateBeforeStep(stands, requiredRelease);
  const lines = [...error.detail, ...(error.isLogged ? [] : [error.message + sentenceOfCause(error)])];
  const end = { outcome, code, state, advice, ...(requiredRelease !== null && { requiredRelease }) };
  return failure(end, exitCodes[outcome], lines, error.fields);
}

function failure(
  end: RunEnd & { advice: string },
  exitCode: number,
  lines: readonly string[] = [],
  fields: Fields = {},
): Failure {
  const { outcome, code, advice, requiredRelease = null } = end;
  return { outcome, exitCode, message: formatEnd(end), lines, code, advice, requiredRelease, fields };
}

/** What a journal keeps of an ending. */
export const keptEnding = (log: Log, { outcome, exitCode, message, fields = {} }: Ending): Ending => ({
  ...{ outcome, exitCode, fields },
  message: log.masked(message),
});

/** The end of a run that did not do what was asked, as it stands in the log. */
export function reportEnding(error: unknown, log: Log, facts: EndingFacts, cancelledBy?: number): Ending {
  const { outcome, exitCode, message, lines, ...said } = endingOf(error, facts, cancelledBy);
  for (const line of lines) log.error(line);
  logEnd(log, { outcome, message }, said);
  return keptEnding(log, { outcome, exitCode, message, fields: said.fields });
}

const good = ['updated', 'unchanged', 'fetched'] as const;
type GoodOutcome = (typeof good)[number];

/** The last line of a run that did what was asked. */
export function endWell(log: Log, outcome: GoodOutcome, message: string, fields: Fields): Ending {
  log.enter('done');
  log.info(message, { outcome, ...fields });
  return keptEnding(log, { outcome, exitCode: exitCodes[outcome], message, fields });
}

/** The last line once more: of a run that this very container has ended, or had begun to end. Gives the ending. */
export function repeatEnding(ending: Ending, log: Log): Ending {
  const { fields = {} } = ending;
  logEnd(log, ending, { ...(isGood(ending) ? null : parseEnd(ending.message)), fields });
  return ending;
}

const isGood = ({ outcome }: Pick<Ending, 'outcome'>): boolean =>
  (good as readonly Outcome[]).includes(outcome);

function logEnd(
  log: Log,
  { outcome, message }: Pick<Ending, 'outcome' | 'message'>,
  {
    code,
    advice,
    requiredRelease,
    fields,
  }: { code?: string | null; advice?: string | null; requiredRelease?: string | null; fields?: Fields },
): void {
  log.enter('done');
  const level = outcome === 'cancelled' ? 'warn' : isGood({ outcome }) ? 'info' : 'error';
  log[level](message, {
    outcome,
    ...fields,
    ...(code != null && { code }),
    ...(advice != null && { advice }),
    ...(requiredRelease != null && { requiredRelease }),
  });
}

const sentenceOfCause = (error: UpdateError): string => {
  const code = (error.cause as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' && /^E[A-Z]+$/.test(code) && !error.message.includes(code)
    ? ` (${code})`
    : '';
};

function stateAfter({ code, outcome, state }: UpdateError, facts: EndingFacts): string {
  if (state !== null) return `${state}${saved(facts)}`;
  if (code === 'files-not-restored') return 'the files are not as they were';
  if (code === 'data-not-restored') {
    const stopped = [...facts.services, ...(facts.dataServices ?? [])];
    return `${and(stopped)} ${stopped.length > 1 ? 'are' : 'is'} stopped, because the data of ${running(facts)} is not restored yet`;
  }
  if (code === 'engine-lost') {
    return `the engine went away while containers were replaced; the files are the new ones, ${and(facts.services)} may be half replaced`;
  }
  if (code === 'containers-not-restored') {
    return `${files(facts)}, but ${running(facts)} could not be brought back; nothing of the new version has started${saved(facts)}`;
  }
  if (code === 'unhealthy') return `nothing was changed: ${running(facts)} runs already and is not well`;
  if (outcome === 'broken') {
    return `the new version has started and is not well; nothing was put back, as its migrations may have run${saved(facts)}`;
  }
  // Somebody else has decided what runs now.
  if (code === 'containers-changed')
    return 'nothing was changed by this run, and what was done meanwhile stands';
  if (facts.touched) {
    return `${files(facts)} and ${running(facts)} ${facts.isStopped ? stopped : 'runs again'}${saved(facts)}`;
  }
  return nothingChanged(facts);
}

const stopped = 'is stopped as before';

const files = ({ leftAlone }: EndingFacts): string =>
  leftAlone ? 'the other files are as they were' : 'the files are as they were';

const saved = ({ leftAlone }: EndingFacts): string => (leftAlone ? `; ${savedMeanwhile(leftAlone)}` : '');

/** A run that ends early does not know yet what runs, and `bump` never does. */
function nothingChanged(facts: EndingFacts): string {
  const { version, halfDone, isStopped } = facts;
  if (halfDone) return `nothing was changed by this run, and ${halfDone}`;
  const stands = isStopped ? stopped : 'runs on';
  const what = version === null ? 'nothing was changed' : `nothing was changed, ${version} ${stands}`;
  return `${what}${saved(facts)}`;
}

const running = ({ version }: EndingFacts): string => version ?? 'the old version';

function adviceWhenBroken(facts: EndingFacts, { code, advice }: UpdateError): string {
  if (!facts.project) return advice;
  const compose = `docker compose -p ${facts.project.name}`;
  const names = [...(facts.dataServices ?? []), ...facts.services].join(' ');
  const mend = `See ${compose} ps and ${compose} logs ${names}; mend the cause, then run the update again`;
  // With files that somebody has saved, compose may start an older version than the one that has migrated.
  if (facts.leftAlone) return `${mend}.`;
  const rollback =
    code === 'broken' && facts.canRollBack ? ' To restore version and data from before: rollback --yes.' : '';
  return `${mend}, or: ${composeCommand(facts.project)} up -d --no-deps ${names}, from the compose directory.${rollback}`;
}
