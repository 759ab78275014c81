import type { RunOrigin } from '../place/updater-container.ts';
import type { OpenRun } from '../store/open-run.ts';

/** The updater's container of this instance. */
export interface FoundUpdater {
  id: string;
  origin: RunOrigin;
  /** `made` was never started. */
  state: 'made' | 'under-way' | 'ended';
}

export interface ResumeFacts {
  /** The open run of the store; null for none, and for one that cannot be read. */
  open: OpenRun | null;
  updater: FoundUpdater | null;
  /** What became of the server that accepted the open run. */
  server: 'this' | 'lives' | 'gone';
}

export type ResumeStep =
  /** No run is on: the queue goes on. */
  | { kind: 'release' }
  /** Another server prepares the run: what that server writes of it is told here, too. */
  | { kind: 'mirror'; open: OpenRun }
  | { kind: 'follow'; open: OpenRun; containerId: string; isOver: boolean }
  /**
   * The run was started by hand, or was over and has begun anew. `undone` is the run that it rolls back: a store among
   * the data has it as open again.
   */
  | { kind: 'adopt'; origin: RunOrigin; containerId: string; undone: OpenRun | null }
  | { kind: 'end'; open: OpenRun; outcome: 'crashed' | 'cancelled'; leftover: string | null }
  /** The store failed as this server accepted the run, so its request was refused: nobody was told of the run. */
  | { kind: 'drop'; open: OpenRun };

/** What to do about the run that is on, or was on as a server ended (docs/contract.md 8.18); touches nothing. */
export function planResume({ open, updater, server }: ResumeFacts): ResumeStep {
  if (open === null) {
    if (updater?.state !== 'under-way') return { kind: 'release' };
    return { kind: 'adopt', origin: updater.origin, containerId: updater.id, undone: null };
  }
  const own = updater?.origin.id === open.run.id ? updater : null;
  // A container that was only made is its server's; without that server it must not be started later, with no hold.
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
