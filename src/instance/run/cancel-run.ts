import type { EngineSocket } from '../../engine/socket.ts';
import type { Product } from '../../progress/product.ts';
import type { CancelReason, Run } from '../../wire/status.ts';
import type { Settings } from '../contract/options.ts';
import type { Ledger } from '../store/ledger.ts';
import type { RunCare } from './run-care.ts';
import { isLaunchState, type RunRecord } from './run-record.ts';

const notRunning: { reason: CancelReason } = {
  reason: { code: 'not-running', message: 'no update is running' },
};
const tooLate = ({ name }: Product): { reason: CancelReason } => ({
  reason: { code: 'too-late', message: `${name} is being replaced: the update can no longer be cancelled` },
});

/**
 * Asks that a run stop (docs/contract.md 8.19): its preparation here, at the server that prepares it, or its updater.
 * `care` is null where another server prepares it.
 * @throws HostFailure, EngineFault
 */
export async function cancelRun(
  record: RunRecord | null,
  care: RunCare | null,
  by: string,
  { ledger, engine, settings }: { ledger: Ledger; engine: EngineSocket; settings: Pick<Settings, 'product'> },
): Promise<{ run: Run } | { reason: CancelReason }> {
  if (record === null || record.hasEnded) return notRunning;
  const { id, state } = record.run;
  if (state === 'recreate' || state === 'verify') return tooLate(settings.product);
  const ask = () => ledger.change(id, (open) => ({ ...open, run: { ...open.run, cancelAskedBy: by } }));
  if (care === null) {
    if ((await ask()) === null) return notRunning;
  } else {
    const { containerId } = care;
    if (containerId === null && isLaunchState(state)) care.cancel(by);
    else if (containerId !== null) await engine.kill(containerId, 'SIGTERM');
    // The other servers tell of it, too, where the store can be written.
    await ask().catch(() => null);
  }
  record.note({ cancelAskedBy: by });
  return { run: record.run };
}
