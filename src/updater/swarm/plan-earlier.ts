import type { SwarmService } from '../../engine/swarm.ts';
import type { Ending } from '../run/log/ending.ts';
import { isSameRequest, type UpdateOptions } from '../run/options.ts';
import { endingOfState, type OpenState, openOf, rollbackOf } from '../run/state/run-state.ts';
import { type FoundRecord, type RecordData, rollingBackState } from './record.ts';
import { imageSideOf, isDeepEqual, type StackServiceUpdate } from './specs.ts';

/** Step that deals with the previous run (docs/contract.md 11.4). */
type EarlierStackStep =
  /** No previous run, or a run that has ended: its record is replaced. */
  | { kind: 'none' }
  /** Run that was ended by this same updater. */
  | { kind: 'repeat'; ending: Ending }
  /** Run that was killed before it changed a service: files are restored, and the update starts again. */
  | { kind: 'files-back'; inherits: Inheritance }
  /** Run that is resumed at the point of interruption. @param state state of the resumed run */
  | { kind: 'go-on'; state: OpenState }
  /** Run whose changes are all rolled back first. */
  | { kind: 'back'; state: OpenState }
  /**
   * Run whose new version has started, or that has left services stopped: its record has the specs that their owner
   * wants.
   */
  | { kind: 'succeed'; inherits: 'halfway' }
  /** Run after which the services were changed. */
  | { kind: 'set-aside'; inherits: 'wanted' };

/**
 * Specs that a restarted update takes from the record of the previous run. `wanted`: the owner's specs of services that
 * are unchanged since that run. `halfway`: the owner's specs of services that the run has left half updated.
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
 * Returns what a run inherits from a run that has undone its changes. If that run found services halfway, only its
 * record has the specs that the owner wants.
 */
export const inheritanceOf = ({ moves }: RecordData): Inheritance =>
  moves.some(({ before, wanted }) => !isDeepEqual(before, wanted)) ? 'halfway' : 'nothing';

function isAsLeft(move: StackServiceUpdate, services: readonly SwarmService[]): boolean {
  const service = services.find(({ id }) => id === move.id);
  return service !== undefined && imageSideOf(move, service.spec) !== null;
}
