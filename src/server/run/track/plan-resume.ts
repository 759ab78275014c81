import type { InitialRunFacts } from '../../deployment/updater-container.ts';
import type { OpenRun } from '../../store/stored-entries.ts';
import type { ServerProcessState } from './server-liveness.ts';

/** Updater container of this instance. */
export interface FoundUpdater {
  id: string;
  origin: InitialRunFacts;
  /** A container in the state `made` was never started. */
  state: 'made' | 'under-way' | 'ended';
}

export type ResumeStep =
  /** No run is in progress: resume the queue. */
  | { kind: 'release' }
  /** Another server is preparing the run: report the state that it stores. */
  | { kind: 'mirror'; open: OpenRun }
  | { kind: 'follow'; open: OpenRun; updater: FoundUpdater }
  /**
   * The run was started manually, or its updater was restarted. If a rollback has restored the store, `undone` is the
   * rolled-back run, which is open again in the restored store. Otherwise, `undone` is null.
   */
  | { kind: 'adopt'; updater: FoundUpdater; undone: OpenRun | null }
  | { kind: 'end'; open: OpenRun; outcome: 'crashed' | 'cancelled'; leftover: string | null }
  /** The store failed when this server accepted the run, so the request was refused: delete the run. */
  | { kind: 'drop'; open: OpenRun };

/**
 * Decides how to continue the current run (docs/contract.md 8.18). Has no side effects.
 * @param open - the current run in the store; null if no run is open or it cannot be read
 * @param server - the state of the server process that accepted the current run
 */
export function planResume(
  open: OpenRun | null,
  updater: FoundUpdater | null,
  server: ServerProcessState,
): ResumeStep {
  if (open === null)
    return updater?.state === 'under-way' ? { kind: 'adopt', updater, undone: null } : { kind: 'release' };
  const own = updater?.origin.id === open.run.id ? updater : null;
  // Do not follow a container that was never started: only the server that created it may start it. If that server has
  // ended, the queue is no longer paused, so the container must not be started.
  if (own !== null && own.state !== 'made') return { kind: 'follow', open, updater: own };
  if (open.updater !== null && updater?.origin.kind === 'rollback' && updater.state !== 'made')
    return { kind: 'adopt', updater, undone: open };
  if (open.updater !== null) return { kind: 'end', open, outcome: 'crashed', leftover: null };
  if (server === 'lives') return { kind: 'mirror', open };
  if (server === 'this') return { kind: 'drop', open };
  return { kind: 'end', open, outcome: 'cancelled', leftover: own?.id ?? null };
}
