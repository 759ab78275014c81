import type { SwarmService } from '../../engine/swarm.ts';
import type { FoundRecord, RecordData } from './record.ts';
import { imageSideOf, isSame, type ServiceMove } from './specs.ts';

/** What to do about the run before (docs/contract.md 11.4). */
export type EarlierStackStep =
  /** There is none, or it has ended: its record is replaced. */
  | { kind: 'none' }
  /** This very updater has ended it. */
  | { kind: 'repeat' }
  /** It was killed before it changed a service: files are restored, and the update starts over. */
  | { kind: 'files-back'; carries: boolean }
  /** It is resumed where it stopped. */
  | { kind: 'go-on' }
  /** All its changes are undone first. */
  | { kind: 'back' }
  /** Its new version has started, or it has left services stopped: what their owner wants of them is in its record. */
  | { kind: 'succeed' }
  /** The services were changed after that run. */
  | { kind: 'set-aside' };

/** @param holder this updater; @param target as it was asked for now; @param services of the stack, as they are */
export function planEarlierStack(
  earlier: FoundRecord | null,
  { holder, target, services }: { holder: string; target: string | null; services: readonly SwarmService[] },
): EarlierStackStep {
  if (earlier === null) return { kind: 'none' };
  const { state, data } = earlier;
  const { outcome, phase, started } = state;
  if (outcome !== null && state.holder === holder) return { kind: 'repeat' };
  if (outcome?.outcome === 'updated' || outcome?.outcome === 'unchanged') return { kind: 'none' };
  // What its owner wants stands in no spec any more, but in the record of the run that has stopped a service.
  const carries = hasLeft(data);
  const isOpen = outcome === null || outcome.outcome === 'broken' || outcome.outcome === 'crashed';
  if (isOpen && (phase === 'pull' || phase === 'write')) return { kind: 'files-back', carries };
  if (!isOpen && !carries) return { kind: 'none' };
  if (!data.moves.every((move) => isAsLeft(move, services))) return { kind: 'set-aside' };
  if (!isOpen) return { kind: 'succeed' };
  if ((phase === 'back' || phase === 'restore') && !started) return { kind: 'back' };
  if (data.target === target) return { kind: 'go-on' };
  return started ? { kind: 'succeed' } : { kind: 'back' };
}

/** Whether the run had found services in the middle, as one before it had left them: their specs are not what is wanted. */
export const hasLeft = ({ moves }: RecordData): boolean =>
  moves.some(({ before, wanted }) => !isSame(before, wanted));

function isAsLeft(move: ServiceMove, services: readonly SwarmService[]): boolean {
  const service = services.find(({ id }) => id === move.id);
  return service !== undefined && imageSideOf(move, service.spec) !== null;
}
