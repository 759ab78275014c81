import type { SwarmService } from '../../../engine/swarm/swarm-service.ts';
import type { RunOutcome } from '../../run/log/run-outcome.ts';
import { isSameRequest, type UpdateOptions } from '../../run/options/update-options.ts';
import {
  rollbackOf,
  runOutcomeOf,
  type UnfinishedState,
  unfinishedStateOf,
} from '../../run/state/run-state.ts';
import { classifySpecImage, isEquivalentJson, type StackServiceUpdate } from '../services/specs.ts';
import { type FoundStackRecord, type StackRecordData, stackRollbackState } from './stack-record.ts';

/** How a run deals with the previous run of the same stack (docs/contract.md 11.4). */
type StackRecoveryStep =
  /** There is no previous run, or it has ended and its record only needs to be replaced. */
  | { kind: 'none' }
  /** This updater has restarted after its run ended: its outcome is logged again. */
  | { kind: 'repeat'; ending: RunOutcome }
  /** The previous run was killed before it changed a service. Its files are restored; the update starts again. */
  | { kind: 'files-back'; inherits: SpecInheritance }
  /** The previous run is resumed where it was interrupted. `state` is the state from which it continues. */
  | { kind: 'go-on'; state: UnfinishedState }
  /** All changes of the previous run are rolled back before this update starts. */
  | { kind: 'back'; state: UnfinishedState }
  /**
   * The previous run started its new version or left services half updated. This run keeps those changes, and takes the
   * owner's specs from that run's record.
   */
  | { kind: 'succeed'; inherits: 'halfway' }
  /** Services were changed after the previous run: nothing is undone, and its record is discarded. */
  | { kind: 'set-aside'; inherits: 'wanted' };

/**
 * Whether an update takes the owner's specs from the previous run's record. `wanted`: only for services unchanged since
 * that run. `halfway`: services are half updated, so all old app tasks are stopped first.
 */
export type SpecInheritance = 'nothing' | 'wanted' | 'halfway';

/**
 * @param holder - id of this updater
 * @param services - current services of the stack
 */
export function planStackRecovery(
  previous: FoundStackRecord | null,
  { holder, services }: { holder: string; services: readonly SwarmService[] },
  options: UpdateOptions,
): StackRecoveryStep {
  if (previous === null) return { kind: 'none' };
  const { data, labels } = previous;
  const { started } = labels;
  const ending = runOutcomeOf(labels.state);
  const outcome = ending?.outcome;
  const open = unfinishedStateOf(labels.state);
  if (ending !== null && labels.holder === holder) return { kind: 'repeat', ending };
  if (outcome === 'updated' || outcome === 'unchanged') return { kind: 'none' };
  const inherits = specInheritanceOf(data);
  if (open?.at === 'pulling' || open?.at === 'writing') return { kind: 'files-back', inherits };
  if (open === null && inherits === 'nothing') return { kind: 'none' };
  if (!data.moves.every((move) => isUnchangedSinceRun(move, services)))
    return { kind: 'set-aside', inherits: 'wanted' };
  const succeed = { kind: 'succeed', inherits: 'halfway' } as const;
  if (open === null) return succeed;
  if (rollbackOf(open) !== null && !started) return { kind: 'back', state: open };
  if (isSameRequest(data, options)) return { kind: 'go-on', state: { at: 'replacing' } };
  return started ? succeed : { kind: 'back', state: stackRollbackState };
}

/** If services were already half updated before the recorded run, only that run's record contains the owner's specs. */
export const specInheritanceOf = ({ moves }: StackRecordData): SpecInheritance =>
  moves.some(({ before, wanted }) => !isEquivalentJson(before, wanted)) ? 'halfway' : 'nothing';

function isUnchangedSinceRun(move: StackServiceUpdate, services: readonly SwarmService[]): boolean {
  const service = services.find(({ id }) => id === move.id);
  return service !== undefined && classifySpecImage(move, service.spec) !== null;
}
