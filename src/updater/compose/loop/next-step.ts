import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ProjectContainers } from '../../../engine/containers/project-containers.ts';
import type { NextStep, RunGoal } from '../../run/run-steps.ts';
import type { JournalData } from '../../run/state/journal.ts';
import { hasNewVersionStarted } from '../../run/state/rollout.ts';
import { isBeforeReplacing } from '../../run/state/run-state.ts';
import { listReplaceSteps, type ReplaceStep } from '../replace/replace-steps.ts';
import {
  assignOldContainerIds,
  listRemovedContainers,
  listRestoreSteps,
  type RestoreStep,
} from '../rollback/list-restore-steps.ts';

type UpdateStep =
  /** Pulls all images and verifies the file changes. */
  | { kind: 'pull' }
  /** Copies the data while all services are running. */
  | { kind: 'copy-warm' }
  /** Checks that no other process has replaced the containers, and plans the rollout. */
  | { kind: 'record-containers' }
  /** Stops the services that the restore point covers, and copies the data that has changed since `copy-warm`. */
  | { kind: 'copy-cold' }
  /** Writes the changed project files, and sets the image tags that the pull has not set. */
  | { kind: 'write' }
  /** Logs which services will be replaced. After this step, no signal ends the run. */
  | { kind: 'announce' }
  | ReplaceStep
  | { kind: 'verify' };

type RollbackStep =
  | { kind: 'restore-data' }
  | { kind: 'restore-files' }
  /** Repeats the whole restore, because the new version was started and may have used the restored data. */
  | { kind: 'restore-again' }
  | { kind: 'start-data-services' }
  /** Waits until the containers that the update was stopping have exited. */
  | { kind: 'end-stops' }
  | RestoreStep
  /** Restores the containers again, because another process removed old containers during the rollback. */
  | { kind: 'restore-removed'; names: readonly string[]; failure: unknown }
  /**
   * Leaves the new version running if another process started it before this run replaced any container. The old
   * version must not use data that the new version may have changed.
   */
  | { kind: 'leave-new-version' }
  | { kind: 'end-restore-point' };

export type ComposeStep = UpdateStep | RollbackStep;
export type ComposeStepKind = ComposeStep['kind'];
export type ComposeStepOfKind<K extends ComposeStepKind> = Extract<ComposeStep, { kind: K }>;

/** Facts known only to this process: they are neither in the journal nor reported by the engine. */
export interface UnjournaledRunState {
  /** Names of completed steps, as returned by `stepNameOf`. */
  done: ReadonlySet<string>;
  skippedSteps: ReadonlySet<ComposeStepKind>;
  /** Changes that the prepared update will make; `nothing` until the update is prepared. */
  preparedChanges: 'nothing' | 'no change' | 'changes' | 'changes, with data to save';
  /** Ids of the containers that existed when the rollback began to restore containers. */
  idsBeforeRestore: ReadonlySet<string>;
  /** Ids of recreated containers, keyed by the ids of the old containers. */
  successors: ReadonlyMap<string, string>;
  /** Old ids of containers that were recreated since the last `restore-again` or `restore-removed` step. */
  rebuilt: ReadonlySet<string>;
  /** Errors of failed restore steps, keyed by service. The key is null if an error concerns several services. */
  failures: ReadonlyMap<string | null, unknown>;
}

export interface ComposeRunView {
  data: JournalData;
  now: ProjectContainers;
  known: UnjournaledRunState;
}

/** Identifies a step, so that a completed step is not executed again. */
export const stepNameOf = (step: ComposeStep): string =>
  [
    step.kind,
    ...('record' in step ? [step.record.id] : 'service' in step ? [step.service] : []),
    ...('dependent' in step ? [step.dependent] : []),
    ...(step.kind === 'remove-leftovers' || step.kind === 'give-name' || step.kind === 'stop-again'
      ? step.containers.map(({ id }) => id)
      : []),
  ].join(' ');

/** Returns the next step toward the goal, according to the table in docs/run.md ("The loop"). */
export const planNextStep = (view: ComposeRunView, goal: RunGoal): NextStep<ComposeStep> =>
  goal === 'update' ? planUpdateStep(view) : planRollbackStep(view);

const done = { kind: 'done' } as const;

const isDoneOf =
  (known: UnjournaledRunState) =>
  (step: ComposeStep): boolean =>
    known.done.has(stepNameOf(step)) || known.skippedSteps.has(step.kind);

function planUpdateStep({ data, now, known }: ComposeRunView): NextStep<ComposeStep> {
  const { state, changeover: rollout } = data;
  const isDone = isDoneOf(known);
  const first = (...steps: ComposeStep[]) => steps.find((step) => !isDone(step)) ?? done;
  switch (state.at) {
    case 'pulling':
    case 'saving':
    case 'writing': {
      if (known.preparedChanges === 'no change') return done;
      const [warm, cold] = [{ kind: 'copy-warm' }, { kind: 'copy-cold' }] as const;
      const saves = known.preparedChanges === 'changes, with data to save';
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
      if (rollout === null) return { kind: 'blocked', error: new Error('the journal has no changeover') };
      const isReplaced = (service: string) =>
        known.done.has(`up ${service}`) || known.done.has(`run-once ${service}`);
      const steps = listReplaceSteps(rollout, now, isReplaced);
      return first({ kind: 'announce' }, ...steps, { kind: 'verify' });
    }
    default:
      return { kind: 'blocked', error: new Error(`an update cannot go on from ${state.at}`) };
  }
}

function planRollbackStep(view: ComposeRunView): NextStep<ComposeStep> {
  const { data, now, known } = view;
  const { state, changeover: rollout, point, started } = data;
  const isDone = isDoneOf(known);
  // The rollback is complete. Later changes by other processes are not undone.
  if (known.done.has('end-restore-point')) return done;
  const isOfPoint = state.at === 'restoring' && point != null && rollout !== null;
  if (isOfPoint && point.state !== 'restored') return { kind: 'restore-data' };
  if (!isDone({ kind: 'restore-files' })) return { kind: 'restore-files' };
  const isNewThere = rollout !== null && hasNewVersionStarted(rollout, now.containers);
  if (isOfPoint && isNewThere) return { kind: 'restore-again' };
  const leave = { kind: 'leave-new-version' } as const;
  const isOvertaken = isDone(leave) || (isBeforeReplacing(state) && (started || isNewThere));
  if (rollout !== null) {
    if (!isDone({ kind: 'start-data-services' })) return { kind: 'start-data-services' };
    if (isOvertaken && !isDone(leave)) return leave;
    const next = isOvertaken ? null : nextContainer(view);
    if (next) return next;
  }
  return isDone({ kind: 'end-restore-point' }) ? done : { kind: 'end-restore-point' };
}

/** Returns the next step that restores old containers; null if all are restored. */
function nextContainer({ data, now, known }: ComposeRunView): NextStep<ComposeStep> | null {
  const { changeover: rollout, blueprints: snapshots } = data;
  if (rollout === null) return null;
  const { successors, rebuilt, failures, idsBeforeRestore: before } = known;
  const endStops = { kind: 'end-stops' } as const;
  if (!known.done.has(stepNameOf(endStops))) return endStops;
  const containers = assignOldContainerIds(now, successors);
  const started = new Set(
    rollout.containers.map(({ id }) => id).filter((id) => known.done.has(`start ${id}`)),
  );
  for (const step of listRestoreSteps(rollout, { containers, blueprints: snapshots }, { rebuilt, started })) {
    const service = 'service' in step ? step.service : null;
    // If a service cannot be restored, restore the others, but skip steps that concern several services.
    if (service === null && failures.size > 0) break;
    if (!failures.has(null) && !failures.has(service) && !known.done.has(stepNameOf(step))) return step;
  }
  if (failures.size === 0) return null;
  const [first] = failures.values();
  const failure = toContainersNotRestoredError(first, data);
  const there = new Set([...before, ...successors.keys()]);
  const names = listRemovedContainers(rollout, there, containers);
  return names.length > 0 ? { kind: 'restore-removed', names, failure } : { kind: 'blocked', error: failure };
}

/** Converts only an `UpdateError`; other errors are returned unchanged. */
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
