import type { RunOrigin } from '../place/updater-container.ts';
import type { OpenRun } from '../store/open-run.ts';

/** The updater's container of this instance. */
export interface FoundUpdater {
  id: string;
  origin: RunOrigin;
  /** A container in the state `made` was never started. */
  state: 'made' | 'under-way' | 'ended';
}

export interface ResumeFacts {
  /** The current run in the store; null if there is none or it cannot be read. */
  open: OpenRun | null;
  updater: FoundUpdater | null;
  /** State of the server that accepted the current run. */
  server: 'this' | 'lives' | 'gone';
}

export type ResumeStep =
  /** No run is in progress: resume the queue. */
  | { kind: 'release' }
  /** Another server prepares the run: report the state that it writes. */
  | { kind: 'mirror'; open: OpenRun }
  | { kind: 'follow'; open: OpenRun; containerId: string; isOver: boolean }
  /**
   * The run was started manually, or its updater was restarted. `undone` is the run that it rolls back, if the restored store
   * still contains it as open.
   */
  | { kind: 'adopt'; origin: RunOrigin; containerId: string; undone: OpenRun | null }
  | { kind: 'end'; open: OpenRun; outcome: 'crashed' | 'cancelled'; leftover: string | null }
  /** The store failed when this server accepted the run, so the request was refused and the run was never reported. */
  | { kind: 'drop'; open: OpenRun };

/** Decides how to continue the current run (docs/contract.md 8.18). Has no side effects. */
export function planResume({ open, updater, server }: ResumeFacts): ResumeStep {
  if (open === null) {
    if (updater?.state !== 'under-way') return { kind: 'release' };
    return { kind: 'adopt', origin: updater.origin, containerId: updater.id, undone: null };
  }
  const own = updater?.origin.id === open.run.id ? updater : null;
  // A container that was only created belongs to its server. Without that server, it must not be started without a hold.
  if (own !== null && own.state !== 'made') {
    return { kind: 'follow', open, containerId: own.id, isOver: own.state === 'ended' };
  }
  if (open.updater !== null && updater?.origin.kind === 'rollback' && updater.state !== 'made') {
    return { kind: 'adopt', origin: updater.origin, containerId: updater.id, undone: open };
  }
  if (open.updater !== null) return { kind: 'end', open, outcome: 'crashed', leftover: null };
  if (server === 'lives') return { kind: 'mirror', open };
  if (server === 'this') return { kind: 'drop', open };
  return { kind: 'end', open, outcome: 'cancelled', leftover: own?.id ?? null };
}
