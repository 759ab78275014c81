import {
  type NonAdminStatus,
  nonAdminStatusSchema,
  type Problem,
  problemSchema,
  type Rehearsal,
  type RollbackOffer,
  type Run,
  rehearsalSchema,
  rollbackOfferSchema,
  runSchema,
  runWithServerTimeSchema,
  type Status,
  statusSchema,
  type ToldRun,
} from '../status.ts';

export type { NonAdminStatus, Problem };

export const isAdminStatus = (status: Status | NonAdminStatus): status is Status =>
  typeof (status as Status).channel === 'string';

/**
 * Returns null if the value is not a status. Fields that an older server does not send get defaults. Unknown fields and
 * values of a newer server are kept.
 */
export const parseStatus = (value: unknown): Status | NonAdminStatus | null =>
  statusSchema.read(value) ?? nonAdminStatusSchema.read(value) ?? null;

export const parseRunWithServerTime = (value: unknown): ToldRun | null =>
  runWithServerTimeSchema.read(value) ?? null;

export const parseRun = (value: unknown): Run | null => runSchema.read(value) ?? null;

export const parseRehearsal = (value: unknown): Rehearsal | null => rehearsalSchema.read(value) ?? null;

/** Returns null if the version to restore, or the time of its data, is missing. */
export const parseRollbackOffer = (value: unknown): RollbackOffer | null =>
  rollbackOfferSchema.read(value) ?? null;

export const parseRunHistory = (value: unknown): Run[] | null =>
  Array.isArray(value) ? value.flatMap((one) => parseRun(one) ?? []) : null;

export const parseProblem = (value: unknown, status: number): Problem =>
  problemSchema.read({ ...(typeof value === 'object' ? value : null), status }) as Problem;

export const createRunWithDefaults = (given: Partial<Run> & Pick<Run, 'id' | 'state'>): Run =>
  runSchema.read(given) as Run;
