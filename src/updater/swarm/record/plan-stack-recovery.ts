import type { SwarmService } from '../../../engine/swarm/swarm-service.ts';
import type { RunOutcome } from '../../run/log/run-outcome.ts';
import { isSameRequest, type UpdateOptions } from '../../run/options/update-options.ts';
import { endingOfState, type OpenState, openOf, rollbackOf } from '../../run/state/run-state.ts';
import { imageSideOf, isDeepEqual, type StackServiceUpdate } from '../services/specs.ts';
import { type FoundRecord, type RecordData, rollingBackState } from './stack-record.ts';

/** Step with which a run deals with the previous run of the same stack (docs/contract.md 11.4). */
type EarlierStackStep =
  /** No step, because there is no previous run, or because that run has ended and its record is only replaced. */
  | { kind: 'none' }
  /** Previous run of this same updater that has ended: its outcome is logged again. */
  | { kind: 'repeat'; ending: RunOutcome }
  /** Previous run that was killed before it changed a service: its files are restored, and the update starts again. */
  | { kind: 'files-back'; inherits: Inheritance }
  /** Previous run that this run resumes where it was interrupted. `state` is the state from which it continues. */
  | { kind: 'go-on'; state: OpenState }
  /** Previous run whose changes are all rolled back before this update starts. */
  | { kind: 'back'; state: OpenState }
  /**
   * Previous run whose new version has started, or that has left services stopped. This run keeps these changes and
   * takes the specs that the owner wants from the record.
   */
  | { kind: 'succeed'; inherits: 'halfway' }
  /** Previous run after which the services were changed: nothing is undone, and its record is discarded. */
  | { kind: 'set-aside'; inherits: 'wanted' };

/**
 * Specs that an update takes from the record of the previous run. `wanted`: the owner's specs of services that have not
 * changed since that run. `halfway`: the owner's specs of services that the previous run left half updated.
 */
export type Inheritance = 'nothing' | 'wanted' | 'halfway';

/**
 * Plans the step that deals with the previous run.
 * @param holder id of this updater
 * @param services current services of the stack
 */
export function planStackRecovery(
  earlier: FoundRecord | null,
  { holder, services }: { holder: string; services: readonly SwarmService[] },
  options: UpdateOptions,
): EarlierStackStep {
  if (earlier === null) return { kind: 'none' };
  const { data, labels } = earlier;
  const { started } = labels;
  const ending = endingOfState(labels.state);
  const outcome = ending?.outcome;
  const open = openOf(labels.state);
  if (ending !== null && labels.holder === holder) return { kind: 'repeat', ending };
  if (outcome === 'updated' || outcome === 'unchanged') return { kind: 'none' };
  const inherits = inheritanceOf(data);
  if (open?.at === 'pulling' || open?.at === 'writing') return { kind: 'files-back', inherits };
  if (open === null && inherits === 'nothing') return { kind: 'none' };
  if (!data.moves.every((move) => isAsLeft(move, services))) return { kind: 'set-aside', inherits: 'wanted' };
  const succeed = { kind: 'succeed', inherits: 'halfway' } as const;
  if (open === null) return succeed;
  if (rollbackOf(open) !== null && !started) return { kind: 'back', state: open };
  if (isSameRequest(data, options)) return { kind: 'go-on', state: { at: 'replacing' } };
  return started ? succeed : { kind: 'back', state: rollingBackState };
}

/**
 * Returns the specs that an update takes from the record of a previous run that has undone its changes. If services
 * were already half updated before that run, only its record contains the specs that the owner wants.
 */
export const inheritanceOf = ({ moves }: RecordData): Inheritance =>
  moves.some(({ before, wanted }) => !isDeepEqual(before, wanted)) ? 'halfway' : 'nothing';

function isAsLeft(move: StackServiceUpdate, services: readonly SwarmService[]): boolean {
  const service = services.find(({ id }) => id === move.id);
  return service !== undefined && imageSideOf(move, service.spec) !== null;
}
