import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ProjectContainers } from '../../../engine/containers/project-containers.ts';
import type { Goal, NextStep } from '../../run/run-steps.ts';
import type { JournalData } from '../../run/state/journal.ts';
import { hasNewVersionStarted } from '../../run/state/rollout.ts';
import { isBeforeReplacing } from '../../run/state/run-state.ts';
import { listReplaceSteps, type ReplaceStep } from '../replace/replace-steps.ts';
import {
  listRemovedContainers,
  listRestoreSteps,
  type RestoreStep,
  restoreOldIds,
} from '../rollback/list-restore-steps.ts';

/** Step of an update to the new version. */
type UpdateStep =
  /** Pulls all images, and verifies the file changes. */
  | { kind: 'pull' }
  /** Copies the data while all services are running. */
  | { kind: 'copy-warm' }
  /** Records the containers that are about to be replaced. */
  | { kind: 'record-containers' }
  /** Stops the covered services, and copies the data that has changed since `copy-warm`. */
  | { kind: 'copy-cold' }
  /** Writes the changed project files, and sets the image tags that the pull has not set. */
  | { kind: 'write' }
  /** Logs the services to be replaced. From now on, no signal ends the run. */
  | { kind: 'announce' }
  | ReplaceStep
  | { kind: 'verify' };

/** Step of a rollback. */
type RollbackStep =
  | { kind: 'restore-data' }
  | { kind: 'restore-files' }
  /** Repeats the whole restore, because the new version was started on the restored data. */
  | { kind: 'restore-again' }
  | { kind: 'start-data-services' }
  /** Waits until the containers that the update was stopping have exited. */
  | { kind: 'end-stops' }
  | RestoreStep
  /** Starts the restore of containers again, because another process has removed old containers during the rollback. */
  | { kind: 'restore-removed'; names: readonly string[]; failure: unknown }
  /**
   * Leaves another version running that was started before this run replaced anything: the old version must not use its
   * data.
   */
  | { kind: 'leave-new-version' }
  | { kind: 'end-restore-point' };

export type ComposeStep = UpdateStep | RollbackStep;
export type StepKind = ComposeStep['kind'];
export type StepOf<K extends StepKind> = Extract<ComposeStep, { kind: K }>;

/** Facts that are known only to this process: neither the journal contains them, nor does the engine report them. */
export interface Knowledge {
  /** Names of completed steps, as returned by `stepName`. */
  done: ReadonlySet<string>;
  /** Steps that this run skips. */
  without: ReadonlySet<StepKind>;
  /** Changes that the prepared update will make; `nothing` until the update is prepared. */
  found: 'nothing' | 'no change' | 'changes' | 'changes, with data to save';
  /** Ids of the containers that existed when the rollback began to restore containers. */
  before: ReadonlySet<string>;
  /** Ids of recreated containers, by the ids of the old containers. */
  successors: ReadonlyMap<string, string>;
  /** Old ids of the containers that were recreated since the restore of containers last began. */
  rebuilt: ReadonlySet<string>;
  /** Errors by service that could not be restored; the key null is for an error that concerns more than one service. */
  failures: ReadonlyMap<string | null, unknown>;
}

export interface ComposeView {
  data: JournalData;
  now: ProjectContainers;
  known: Knowledge;
}

/** Returns the name of a step, which identifies completed steps so that they are not executed again. */
export const stepName = (step: ComposeStep): string =>
  [
    step.kind,
    ...('record' in step ? [step.record.id] : 'service' in step ? [step.service] : []),
    ...('dependent' in step ? [step.dependent] : []),
    ...(step.kind === 'remove-leftovers' || step.kind === 'give-name' || step.kind === 'stop-again'
      ? step.containers.map(({ id }) => id)
      : []),
  ].join(' ');

/** Returns the next step toward the goal, according to the table in docs/design.md. */
export const nextStep = (view: ComposeView, goal: Goal): NextStep<ComposeStep> =>
  goal === 'update' ? nextForward(view) : nextBack(view);

const done = { kind: 'done' } as const;

const isDoneOf =
  (known: Knowledge) =>
  (step: ComposeStep): boolean =>
    known.done.has(stepName(step)) || known.without.has(step.kind);

function nextForward({ data, now, known }: ComposeView): NextStep<ComposeStep> {
  const { state, changeover } = data;
  const isDone = isDoneOf(known);
  const first = (...steps: ComposeStep[]) => steps.find((step) => !isDone(step)) ?? done;
  switch (state.at) {
    case 'pulling':
    case 'saving':
    case 'writing': {
      if (known.found === 'no change') return done;
      const [warm, cold] = [{ kind: 'copy-warm' }, { kind: 'copy-cold' }] as const;
      const saves = known.found === 'changes, with data to save';
      return first(
        { kind: 'pull' },
        ...(saves ? [warm] : []),
        { kind: 'record-containers' },
        ...(saves ? [cold] : []),
        { kind: 'write' },
      );
    }
    case 'replacing':
    case 'verifying': {
      if (changeover === null) return { kind: 'blocked', why: new Error('the journal has no changeover') };
      const isReplaced = (service: string) =>
        known.done.has(`up ${service}`) || known.done.has(`run-once ${service}`);
      const steps = listReplaceSteps(changeover, now, isReplaced);
      return first({ kind: 'announce' }, ...steps, { kind: 'verify' });
    }
    default:
      return { kind: 'blocked', why: new Error(`an update cannot go on from ${state.at}`) };
  }
}

function nextBack(view: ComposeView): NextStep<ComposeStep> {
  const { data, now, known } = view;
  const { state, changeover, point, started } = data;
  const isDone = isDoneOf(known);
  // The rollback is complete: changes that another process makes after that are not undone.
  if (known.done.has('end-restore-point')) return done;
  const isOfPoint = state.at === 'restoring' && point != null && changeover !== null;
  if (isOfPoint && point.state !== 'restored') return { kind: 'restore-data' };
  if (!isDone({ kind: 'restore-files' })) return { kind: 'restore-files' };
  const isNewThere = changeover !== null && hasNewVersionStarted(changeover, now.containers);
  if (isOfPoint && isNewThere) return { kind: 'restore-again' };
  const leave = { kind: 'leave-new-version' } as const;
  const isOvertaken = isDone(leave) || (isBeforeReplacing(state) && (started || isNewThere));
  if (changeover !== null) {
    if (!isDone({ kind: 'start-data-services' })) return { kind: 'start-data-services' };
    if (isOvertaken && !isDone(leave)) return leave;
    const next = isOvertaken ? null : nextContainer(view);
    if (next) return next;
  }
  return isDone({ kind: 'end-restore-point' }) ? done : { kind: 'end-restore-point' };
}

/** Returns the next step that restores old containers; null if all are restored. */
function nextContainer({ data, now, known }: ComposeView): NextStep<ComposeStep> | null {
  const { changeover, blueprints } = data;
  if (changeover === null) return null;
  const { successors, rebuilt, failures, before } = known;
  const endStops = { kind: 'end-stops' } as const;
  if (!known.done.has(stepName(endStops))) return endStops;
  const containers = restoreOldIds(now, successors);
  const started = new Set(
    changeover.containers.map(({ id }) => id).filter((id) => known.done.has(`start ${id}`)),
  );
  for (const step of listRestoreSteps(changeover, { containers, blueprints }, { rebuilt, started })) {
    const service = 'service' in step ? step.service : null;
    // If a service cannot be restored, the other services are still started. Steps for several services are then
    // skipped.
    if (service === null && failures.size > 0) break;
    if (!failures.has(null) && !failures.has(service) && !known.done.has(stepName(step))) return step;
  }
  if (failures.size === 0) return null;
  const [first] = failures.values();
  const failure = toContainersNotRestoredError(first, data);
  const there = new Set([...before, ...successors.keys()]);
  const names = listRemovedContainers(changeover, there, containers);
  return names.length > 0 ? { kind: 'restore-removed', names, failure } : { kind: 'blocked', why: failure };
}

/**
 * Converts an `UpdateError` to the error of a run that could not restore the old containers. Returns other errors as
 * is.
 */
export function toContainersNotRestoredError(error: unknown, { from, state }: JournalData): unknown {
  if (!(error instanceof UpdateError)) return error;
  return new UpdateError('containers-not-restored', error.message, {
    ...(state.at === 'restoring' && {
      state: `the data and files of ${from} have been restored, but ${from} could not be started`,
    }),
    detail: error.detail,
    cause: error,
  });
}
