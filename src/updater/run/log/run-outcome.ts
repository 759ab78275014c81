import * as z from 'zod/mini';
import { CancelledError, InterruptedError } from '../../../core/cancellation/cancelled.ts';
import {
  formatComposeCommand,
  formatShortComposeCommand,
} from '../../../core/command-line/compose-command.ts';
import { formatAdvice } from '../../../core/errors/advice.ts';
import { defaultAdviceOf, UpdateError } from '../../../core/errors/update-error.ts';
import { svcProduct } from '../../../core/names/product.ts';
import { exitCodes, isSuccess, outcomes } from '../../../core/progress/outcome.ts';
import { formatLastLogLine, type RunResult } from '../../../core/progress/run-result.ts';
import { mapJsonStrings } from '../../../core/text/plain-text.ts';
import { joinWithAnd } from './format-values.ts';
import { maskedText } from './mask.ts';
import { describeUserEdits, type OutcomeDetails } from './outcome-details.ts';
import type { Log, LogFields } from './run-log.ts';

export const runOutcomeSchema = z.object({
  outcome: z.enum(outcomes),
  exitCode: z.number(),
  /** Last line of the log. */
  message: z.string(),
  /** Additional fields of the last line, for programs. */
  fields: z.exactOptional(z.record(z.string(), z.unknown())),
});
export interface RunOutcome extends z.infer<typeof runOutcomeSchema> {}

/**
 * The message describes the state of the instance and the next command to run.
 * @param cancelledBy - number of the signal that cancelled the run
 */
export function createFailedOutcome(
  error: unknown,
  facts: OutcomeDetails,
  log: Log,
  cancelledBy = 15,
): RunOutcome & { lines: readonly string[] } {
  const {
    mayHaveReplaced: touched,
    project,
    product = svcProduct,
    isRollback = false,
    command = isRollback ? 'rollback --yes' : 'the update',
    canRollBack,
    step,
    safeServices,
  } = facts;
  const compose = project === null ? 'docker compose' : formatShortComposeCommand(project);
  const words = {
    command,
    compose,
    ...(safeServices && { up: `${compose} up -d --no-deps ${safeServices.join(' ')}` }),
    product,
  };
  const endingFor = (known: Omit<RunResult, 'detail'>, exitCode: number, lines: readonly string[]) => ({
    ...toRunOutcome({ ...known, detail: lastErrorOf(log, lines) }, exitCode),
    lines,
  });
  if (error instanceof CancelledError || error instanceof InterruptedError) {
    const message = formatNothingChanged(facts);
    const advice = selectAdvice(`Run ${words.command} again when you are ready.`, log);
    const known = { outcome: 'cancelled', code: null, message, advice, facts: {} } as const;
    return endingFor(known, 128 + cancelledBy, []);
  }
  if (!(error instanceof UpdateError)) {
    const stands = touched
      ? `some containers may not have been replaced; check them with ${words.compose} ps`
      : 'no container was changed, and the original files are in place';
    const message = `this is a bug in the updater${step ? `, which crashed in ${step}` : ''}; ${stands}`;
    const result = canRollBack
      ? `if the new version has already started, this restores ${facts.version} and its data`
      : 'this undoes the update if the new version has not started';
    const again = touched ? `Run ${words.command} again: ${result}. ` : '';
    const advice = selectAdvice(`${again}Please report the lines above.`, log);
    const known = { outcome: 'crashed', code: null, message, advice, facts: {} } as const;
    const lines = [error instanceof Error ? (error.stack ?? error.message) : String(error)];
    return endingFor(known, exitCodes.crashed, lines);
  }
  const template = ['broken', 'unhealthy', 'containers-not-restored'].includes(error.code)
    ? formatBrokenAdvice(facts, error)
    : error.advice;
  const { outcome, code, requiredRelease } = error;
  const stands = describeState(error, facts);
  const message = requiredRelease === null ? stands : `${stands}; ${requiredRelease} must be installed first`;
  const lines = [...error.detail, ...(error.isLogged ? [] : [error.message + formatCauseCode(error)])];
  const general = formatAdvice(defaultAdviceOf(code), words);
  const advice = selectAdvice(general, log, formatAdvice(template, words));
  const known = { ...error.fields, ...(requiredRelease !== null && { requiredRelease }) };
  return endingFor({ outcome, code, message, advice, facts: known }, exitCodes[outcome], lines);
}

/** If the mask would hide part of the specific advice, uses the general advice, which is never masked. */
function selectAdvice(general: string, log: Log, specific = general): string {
  if (!log.maskText(specific).includes(maskedText)) return specific;
  log.addMaskRules(() => ({ shown: [general] }));
  return general;
}

export function toRunOutcome(result: RunResult, exitCode: number): RunOutcome {
  const { outcome, code, advice, facts } = result;
  const fields = { ...facts, ...(code !== null && { code }), ...(advice !== null && { advice }), result };
  return {
    outcome,
    exitCode,
    message: isSuccess(outcome) ? result.message : formatLastLogLine(result),
    fields,
  };
}

/** Maximum length in characters. A release may cause a long error, and a stack's outcome must fit in a label. */
const maxDetailLength = 2_000;

/** The last error may be in the given lines, which have not been logged yet. */
const lastErrorOf = (log: Log, lines: readonly string[]): string | null => {
  const last = lines.flatMap((line) => log.maskText(line).split(/\r?\n/)).at(-1) ?? log.lastError;
  return last?.slice(0, maxDetailLength) ?? null;
};

export function maskOutcome(log: Log, { outcome, exitCode, message, fields = {} }: RunOutcome): RunOutcome {
  const masked = (text: string) => log.maskText(text);
  return { outcome, exitCode, message: masked(message), fields: mapJsonStrings(fields, masked) };
}

export function logFailure(
  error: unknown,
  log: Log,
  facts: OutcomeDetails,
  cancelledBy?: number,
): RunOutcome {
  const { lines, ...outcome } = createFailedOutcome(error, facts, log, cancelledBy);
  for (const line of lines) log.error(line);
  return maskOutcome(log, logLastLine(outcome, log));
}

export function logSuccess(
  log: Log,
  outcome: 'updated' | 'unchanged' | 'fetched' | 'rehearsed',
  message: string,
  facts: LogFields,
): RunOutcome {
  const result = { outcome, code: null, message, detail: null, advice: null, facts };
  return maskOutcome(log, logLastLine(toRunOutcome(result, exitCodes[outcome]), log));
}

/** Logs the last line of a run. Called again if the container restarts after the end of its run. */
export function logLastLine(ending: RunOutcome, log: Log): RunOutcome {
  const { outcome, message, fields } = ending;
  log.enterPhase('done');
  log[outcome === 'cancelled' ? 'warn' : isSuccess(outcome) ? 'info' : 'error'](message, {
    outcome,
    ...fields,
  });
  return ending;
}

const formatCauseCode = (error: UpdateError): string => {
  const code = (error.cause as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' && /^E[A-Z]+$/.test(code) && !error.message.includes(code)
    ? ` (${code})`
    : '';
};

function describeState({ code, outcome, state }: UpdateError, facts: OutcomeDetails): string {
  if (state !== null) return `${state}${describeEdits(facts)}`;
  if (code === 'files-not-restored') return 'some files could not be restored';
  if (code === 'data-not-restored' || (code === 'no-space' && outcome === 'broken')) {
    const stopped = [...facts.services, ...(facts.dataServices ?? [])];
    return `the data of ${oldVersionTextOf(facts)} has not been restored yet, so these services remain stopped: ${joinWithAnd(stopped)}`;
  }
  if (code === 'engine-lost') {
    return `the connection to the engine was lost while containers were being replaced; the files are already updated, and ${joinWithAnd(facts.services)} may have been only partly replaced`;
  }
  if (code === 'containers-not-restored') {
    return `${describeFiles(facts)}, but ${oldVersionTextOf(facts)} could not be restored; no container of the new version has started${describeEdits(facts)}`;
  }
  if (code === 'unhealthy')
    return `nothing was changed; ${oldVersionTextOf(facts)} is already running, but it is unhealthy`;
  if (outcome === 'broken') {
    const why = facts.canRollBack ? '' : ', because its migrations may have run';
    return `the new version has started, but it is unhealthy; it was not rolled back${why}${describeEdits(facts)}`;
  }
  // Another process has changed the containers, so the running version is not the result of this run.
  if (code === 'containers-changed')
    return 'nothing was changed by this run; the changes that another process made during the update were kept';
  if (facts.mayHaveReplaced) {
    return `${describeFiles(facts)}, and ${describeVersionState(oldVersionTextOf(facts), facts, 'running again')}${describeEdits(facts)}`;
  }
  return formatNothingChanged(facts);
}

/** A version that was stopped before the run is still stopped. Otherwise, it is in the given `state`. */
const describeVersionState = (
  version: string,
  { isStopped, isRollback }: OutcomeDetails,
  state: string,
): string =>
  isStopped
    ? `${version} is still stopped, as before the ${isRollback ? 'rollback' : 'update'}`
    : `${version} is ${state}`;

const describeFiles = ({ leftAlone }: OutcomeDetails): string =>
  leftAlone ? 'the other files have been restored' : 'the original files are in place';

const describeEdits = ({ leftAlone }: OutcomeDetails): string =>
  leftAlone ? `; ${describeUserEdits(leftAlone)}` : '';

/** The version is null for `bump`, and if the run ends before it has found the running version. */
function formatNothingChanged(facts: OutcomeDetails): string {
  const { version, interruptedState: halfDone } = facts;
  if (halfDone) return `nothing was changed by this run; ${halfDone}`;
  const what =
    version === null
      ? 'nothing was changed'
      : `nothing was changed; ${describeVersionState(version, facts, facts.isUnwell ? 'still unhealthy' : 'still running')}`;
  return `${what}${describeEdits(facts)}`;
}

const oldVersionTextOf = ({ version }: OutcomeDetails): string => version ?? 'the old version';

function formatBrokenAdvice(facts: OutcomeDetails, { code, advice, state }: UpdateError): string {
  if (!facts.project) return advice;
  const compose = `docker compose -p ${facts.project.name}`;
  const names = [...(facts.dataServices ?? []), ...facts.services].join(' ');
  const fix = `Check the output of ${compose} ps and ${compose} logs ${names}. Fix the cause, then run {command} again`;
  // The advice does not suggest `up`: with the edited files, compose may start an older version on migrated data.
  if (facts.leftAlone) return `${fix}.`;
  const rollback =
    code === 'broken' && state === null && facts.canRollBack
      ? ' To restore the previous version and its data, run the updater with rollback --yes.'
      : '';
  return `${fix}, or run ${formatComposeCommand(facts.project)} up -d --no-deps ${names} in the compose directory.${rollback}`;
}
