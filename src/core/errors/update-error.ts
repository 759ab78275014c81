import type { Product } from '../names/product.ts';
import { stateDirectoryName } from '../names/state-directory-name.ts';
import { formatAdvice } from './advice.ts';
import {
  type ErrorCodeTable,
  type ErrorExplanation,
  type FailureOutcome,
  refusedCodeTable,
} from './refused-codes.ts';

/** Codes for mistakes in the command line or the environment. */
const usageErrors = {
  usage: {
    meaning: 'The command line or the environment contains errors. The updater lists all of them.',
    advice: 'See --help.',
  },
} satisfies ErrorCodeTable;

/** Codes of failed runs after which the old version is running. */
const failures = {
  'engine-unavailable': {
    meaning: 'The engine stopped responding or rejected a request.',
    advice: 'Make sure that the engine responds to docker ps, then run {command} again.',
  },
  'pull-denied': {
    meaning: 'The registry denied access. The credentials are wrong, expired or missing.',
    advice:
      "On the host, log in with docker login. Mount the host's config.json file (-v ~/.docker/config.json:/root/.docker/config.json:ro), then run {command} again.",
  },
  'pull-unknown': {
    meaning: 'The registry does not have this tag or this image.',
    advice: 'Check that the release is published, then run {command} again.',
  },
  'pull-platform': {
    meaning: 'The release has no image for the platform of this machine.',
    advice: 'Choose another release, or ask the publisher for an image for this platform.',
  },
  'pull-space': {
    meaning: 'The disk that the engine uses is full.',
    advice: 'Free up space on the disk, for example with docker image prune. Then run {command} again.',
  },
  'pull-unreachable': {
    meaning: 'The engine cannot reach the registry.',
    advice: 'Make sure that this machine can reach the registry, then run {command} again.',
  },
  'pull-timeout': {
    meaning: 'The images were not pulled within the time limit set by --pull-timeout.',
    advice:
      'Run {command} again with a longer --pull-timeout. Layers that were already downloaded are not downloaded again.',
  },
  'pull-failed': {
    meaning: 'The images could not be pulled. The log reports the cause.',
    advice: 'Fix the cause reported in the log, then run {command} again.',
  },
  'proof-failed': {
    meaning: 'The planned edit would change more than the version, so nothing was written.',
    why: 'The updater compares the output of docker compose config before and after the edit. Only the version may differ.',
    advice: 'Change the version manually, then run {compose} pull && {up}.',
  },
  'file-changed': {
    meaning: 'A project file was changed during the update.',
    why: 'If the update continued, it would overwrite the change or install something that was not planned.',
    advice: 'Make sure that no one edits the files during an update, then run {command} again.',
  },
  'containers-changed': {
    meaning: 'During the update, another user or program replaced or removed a container of this instance.',
    advice: 'Make sure that no one replaces containers during an update, then run {command} again.',
  },
  'write-failed': {
    meaning: 'A file in the compose directory could not be written.',
    advice:
      'Make sure that the disk has free space and that the files are writable (lsattr shows an i for immutable files). Then run {command} again.',
  },
  'killed-repeatedly': {
    meaning: 'The update was killed several times. Files and containers are the same as before the update.',
    advice:
      'Find out what killed the updater, for example with docker inspect {container} or in the kernel log. Then run {command} again.',
  },
  'save-failed': {
    meaning: 'The data could not be saved, so the new version was not started.',
    advice: 'Fix the cause reported in the log, then run {command} again.',
  },
  'rehearsal-failed': {
    meaning: 'The new version did not become ready on a copy of the data. Nothing was changed.',
    advice:
      'The log contains the output of the new version. If it shows a failed connection to a service outside the compose project, the isolation is the cause: update with --restore-point instead. Otherwise, report the output to the publisher, and wait for the next release.',
  },
  'rolled-back': {
    meaning:
      'The new version failed. The old version is running again with the files and the data from before the update.',
    advice:
      'The log contains the output of the new version. If the cause is on this machine, such as a full disk or a missing setting, fix it and run {command} again. Otherwise, report the output to the publisher, and wait for the next release.',
  },
  'recreate-failed': {
    meaning:
      'The containers could not be replaced. No container of the new version has started, and the old containers are running again.',
    advice: 'Fix the cause reported in the log, then run {command} again.',
  },
} satisfies ErrorCodeTable;

/** Codes of failed runs that require a person to act. */
const outages = {
  'files-not-restored': {
    meaning: 'The update failed, and the old files could not be restored.',
    advice: `Copy the files back from ${stateDirectoryName}/backup, then run {up}.`,
  },
  'containers-not-restored': {
    meaning: 'The update failed, and the old containers could not be started again.',
    advice: 'Check the output of {compose} ps and {compose} logs app worker.',
  },
  'data-not-restored': {
    meaning: 'The new version failed, and the old data has not been restored yet. The services stay stopped.',
    why: 'A service that starts with partly restored data could damage the data.',
    advice:
      'Do not start the stopped services. Fix the cause reported in the log, such as a full disk, then run the updater with rollback --yes to continue the restore.',
  },
  'engine-lost': {
    meaning: 'The engine stopped responding while containers were being replaced.',
    advice:
      'Make sure that the engine responds to docker ps, then run {command} again. The new run continues where this run stopped.',
  },
  unhealthy: {
    meaning: 'The target version was already running, but it is unhealthy. Nothing was changed.',
    advice: 'Check the output of {compose} logs app worker.',
  },
  'migration-failed': {
    meaning: 'A migration of the new version failed or did not finish in time.',
    why: 'The migration may have changed the database, so the old version is not started again.',
    advice: 'Check the output of {compose} logs migrate.',
  },
  broken: {
    meaning: 'The new version has started, but it is not healthy.',
    why: 'The migrations of the new version may have changed the database, so the old version is not started again without its old data.',
    advice: 'Check the output of {compose} logs app worker.',
  },
} satisfies ErrorCodeTable;

/** Adds the outcome to each explanation. */
const withOutcome = <K extends string>(
  outcome: FailureOutcome,
  rows: Record<K, Omit<ErrorExplanation, 'outcome'>>,
) =>
  Object.fromEntries(
    Object.entries(rows).map(([code, row]) => [
      code,
      { outcome, ...(row as Omit<ErrorExplanation, 'outcome'>) },
    ]),
  ) as Record<K, ErrorExplanation>;

/** Explanations of all error codes. */
const table = {
  ...withOutcome('usage', usageErrors),
  ...withOutcome('refused', refusedCodeTable),
  ...withOutcome('failed', failures),
  ...withOutcome('broken', outages),
};

export type ErrorCode = keyof typeof table;
export const errorCodes = Object.keys(table) as readonly ErrorCode[];

/** Returns advice in which the fields of `formatAdvice` have not been replaced yet. */
export const defaultAdviceOf = (code: ErrorCode): string => table[code].advice;

/** Returns the explanation of an error code, with the product's own names in the advice. */
export function explanationOf(code: ErrorCode, product: Product): ErrorExplanation {
  const row = table[code];
  return { ...row, advice: formatAdvice(row.advice, { product }) };
}

/** Stops a run because of a problem that a person can fix. No other class is used for such problems. */
export class UpdateError extends Error {
  override readonly name = 'UpdateError';
  readonly code: ErrorCode;
  readonly outcome: FailureOutcome;
  /** One or two sentences in which the fields of `formatAdvice` have not been replaced yet. */
  readonly advice: string;
  /** Output of compose, the engine or a container that explains the error. It is logged before the outcome. */
  readonly detail: readonly string[];
  /** Release that must be installed first, such as `v1.5.0`; null if there is none. */
  readonly requiredRelease: string | null;
  /** State of the instance, as a text for users; null if the error code implies it. */
  readonly state: string | null;
  /** Whether the message was logged before the rollback began, so that it is not logged again. */
  readonly isLogged: boolean;
  /** Additional machine-readable fields of the last log line. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: UpdateErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.outcome = options.outcome ?? table[code].outcome;
    this.advice = options.advice ?? table[code].advice;
    this.detail = options.detail ?? [];
    this.requiredRelease = options.requiredRelease ?? null;
    this.state = options.state ?? null;
    this.isLogged = options.isLogged ?? false;
    this.fields = options.fields ?? {};
  }

  /** Returns an error with another code and the default advice of that code. The original error becomes its cause. */
  withCode(code: ErrorCode): UpdateError {
    return new UpdateError(code, this.message, { detail: this.detail, cause: this });
  }
}

/**
 * Returns the error if it is an UpdateError with one of the codes. If no codes are given, any code is accepted.
 * @throws any other error unchanged
 */
export function requireUpdateError(error: unknown, ...codes: readonly ErrorCode[]): UpdateError {
  if (error instanceof UpdateError && (codes.length === 0 || codes.includes(error.code))) return error;
  throw error;
}

/** `outcome` is only set if it differs from the code's outcome. */
type UpdateErrorOptions = Partial<Omit<UpdateError, 'code' | keyof Error>> & Pick<Error, 'cause'>;
