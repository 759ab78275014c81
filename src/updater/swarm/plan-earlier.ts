import type { SwarmService } from '../../engine/swarm.ts';
import type { Ending } from '../run/log/ending.ts';
import { isSameRequest, type UpdateOptions } from '../run/options.ts';
import { endingOfState, type OpenState, openOf, wayBackOf } from '../run/state/run-state.ts';
import { type FoundRecord, type RecordData, rollingBack } from './record.ts';
import { imageSideOf, isSame, type ServiceMove } from './specs.ts';

/** What to do about the run before (docs/contract.md 11.4). */
type EarlierStackStep =
  /** There is none, or it has ended: its record is replaced. */
  | { kind: 'none' }
  /** This very updater has ended it. */
  | { kind: 'repeat'; ending: Ending }
  /** It was killed before it changed a service: files are restored, and the update starts over. */
  | { kind: 'files-back'; inherits: Inheritance }
  /** It is resumed where it stopped. @param state that it is in from then on */
  | { kind: 'go-on'; state: OpenState }
  /** All its changes are undone first. */
  | { kind: 'back'; state: OpenState }
  /** Its new version has started, or it has left services stopped: what their owner wants of them is in its record. */
  | { kind: 'succeed'; inherits: 'halfway' }
  /** The services were changed after that run. */
  | { kind: 'set-aside'; inherits: 'wanted' };

/**
 * What a run that starts over takes from the record of the run before: nothing, the specs that the owner wants of services
 * that are as that run left them, or these specs of services that were left halfway.
 */
export type Inheritance = 'nothing' | 'wanted' | 'halfway';

/** @param holder this updater; @param services of the stack, as they are; @param options of this run */
export function planEarlierStack(
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
  if (wayBackOf(open) !== null && !started) return { kind: 'back', state: open };
  if (isSameRequest(data, options)) return { kind: 'go-on', state: { at: 'replacing' } };
  return started ? succeed : { kind: 'back', state: rollingBack };
}

/** Of a run that has undone its changes. It may have found services halfway: then only its record has what is wanted. */
export const inheritanceOf = ({ moves }: RecordData): Inheritance =>
  moves.some(({ before, wanted }) => !isSame(before, wanted)) ? 'halfway' : 'nothing';

function isAsLeft(move: ServiceMove, services: readonly SwarmService[]): boolean {
  const service = services.find(({ id }) => id === move.id);
  return service !== undefined && imageSideOf(move, service.spec) !== null;
}
