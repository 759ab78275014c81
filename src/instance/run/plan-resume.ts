import type { OpenRun } from '../store/open-run.ts';

/** What is seen of an updater's container of this instance. */
export interface SeenUpdater {
  id: string;
  runId: string;
  /** `made` was never started. */
  state: 'made' | 'under-way' | 'ended';
}

export interface ResumeFacts {
  /** What the store says; null: nothing, or nothing that can be read. */
  open: OpenRun | null;
  /** Null: there is none. */
  updater: SeenUpdater | null;
  /** Of the server that accepted the open run. */
  server: 'this' | 'lives' | 'gone';
}

export type ResumeStep =
  /** Nothing is on: the queue goes on. */
  | { kind: 'go-on' }
  /** Another server prepares it: what that one tells is told here, too. */
  | { kind: 'mirror'; open: OpenRun }
  | { kind: 'follow'; open: OpenRun; containerId: string; isOver: boolean }
  /** A run that somebody has started by hand, or that was over and has begun anew. */
  | { kind: 'adopt'; containerId: string }
  | { kind: 'end'; open: OpenRun; outcome: 'crashed' | 'cancelled'; leftover: string | null }
  /** Its request was refused, as the store did not answer: nobody was told of it. */
  | { kind: 'drop'; open: OpenRun };

/** What to do about the run that is on, or was on as a server ended (docs/contract.md 8.18); touches nothing. */
export function planResume({ open, updater, server }: ResumeFacts): ResumeStep {
  if (open === null) {
    return updater?.state === 'under-way' ? { kind: 'adopt', containerId: updater.id } : { kind: 'go-on' };
  }
  const own = updater?.runId === open.run.id ? updater : null;
  // A container that was only made is its server's; without that server it must not be started later, with no hold.
  if (own !== null && own.state !== 'made') {
    return { kind: 'follow', open, containerId: own.id, isOver: own.state === 'ended' };
  }
  if (open.updater !== null) return { kind: 'end', open, outcome: 'crashed', leftover: null };
  if (server === 'lives') return { kind: 'mirror', open };
  if (server === 'this') return { kind: 'drop', open };
  return { kind: 'end', open, outcome: 'cancelled', leftover: own?.id ?? null };
}
