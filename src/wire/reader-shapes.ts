import {
  type Problem,
  problemShape,
  type RollbackOffer,
  type Run,
  rollbackOfferShape,
  runShape,
  type Status,
  statusShape,
  type ToldRun,
  toldRunShape,
  type UserStatus,
  versionShape,
} from './status.ts';

export type { Problem, UserStatus };

export const isForAdmins = (status: Status | UserStatus): status is Status =>
  typeof (status as Status).channel === 'string';

/**
 * What a server says, as far as it has the shape of today's: it may be an older one or a newer one than who reads, so
 * whatever is missing is filled in, what nobody knows is kept, and words of closed lists may be others.
 * Null where it is no such thing at all.
 */
export const readStatus = (value: unknown): Status | UserStatus | null =>
  statusShape.read(value) ?? versionShape.read(value) ?? null;

/** Null where it is no run. */
export const readToldRun = (value: unknown): ToldRun | null => toldRunShape.read(value) ?? null;

/** Null where it is no run. */
export const readRun = (value: unknown): Run | null => runShape.read(value) ?? null;

/** Null if it lacks the version to roll back to. */
export const readRollbackOffer = (value: unknown): RollbackOffer | null =>
  rollbackOfferShape.read(value) ?? null;

export const readHistory = (value: unknown): Run[] | null =>
  Array.isArray(value) ? value.flatMap((one) => readRun(one) ?? []) : null;

export const readProblem = (value: unknown, status: number): Problem =>
  problemShape.read({ ...(typeof value === 'object' ? value : null), status }) as Problem;

/** A run of these fields; whatever is missing is filled in. */
export const runOf = (given: Partial<Run> & Pick<Run, 'id' | 'state'>): Run => runShape.read(given) as Run;
