import type { Product } from '../../core/names/product.ts';
import type { CancelReason, Reason, Run } from '../../wire/status.ts';

export const notRunningReason: CancelReason = { code: 'not-running', message: 'no update is running' };

export const createTooLateToCancelReason = ({ kind }: Run, { name }: Product): CancelReason => ({
  code: 'too-late',
  message: `the containers of ${name} are being replaced, so the ${kind} can no longer be cancelled`,
});

export const noRestorePointReason: Reason = {
  code: 'no-restore-point',
  message: 'the last update did not save a restore point, or a rollback has used it',
};

export const createWrongRestorePointReason = (version: string, confirm: string): Reason => ({
  code: 'no-restore-point',
  message: `the restore point is for ${version}, not for ${confirm}`,
});

export const updateStartingReason: Reason = {
  code: 'update-running',
  message: 'another update is being started',
};

/** Describes the current run as the reason why no other run can start. */
export const createRunInProgressReason = ({
  kind,
  to,
  by,
  startedAt,
}: Run): { message: string; since: string } => ({
  message: `${kind === 'rollback' ? 'a rollback' : 'an update'} to ${to ?? 'the newest release'} is running${by === null ? '' : `, started by ${by}`}`,
  since: startedAt,
});
