import { InterruptedError } from '../../../core/cancellation/cancelled.ts';
import type { ProjectContainers } from '../../../engine/containers/project-containers.ts';
import type { RunOutcome } from '../../run/log/run-outcome.ts';
import type { RunContext } from '../../run/run-context.ts';
import { type DrivenRun, RetryableError, type RunGoal } from '../../run/run-steps.ts';
import type { Journal } from '../../run/state/journal.ts';
import { isReplacingOrVerifying } from '../../run/state/run-state.ts';
import { finishUnchangedRun } from '../finish/finish-unchanged.ts';
import { finishUpdatedRun } from '../finish/finish-updated.ts';
import { type ComposeRunOptions, ComposeStepContext } from './compose-step-context.ts';
import { decideRollback } from './decide-rollback.ts';
import { executeStep, isRestoreStep } from './executors.ts';
import {
  type ComposeRunView,
  type ComposeStep,
  planNextStep,
  stepNameOf,
  toContainersNotRestoredError,
} from './next-step.ts';

/** Updates a compose project, or rolls it back. */
export class ComposeRun implements DrivenRun<ComposeRunView, ComposeStep> {
  readonly #work: ComposeStepContext;

  constructor(context: RunContext, journal: Journal, options: ComposeRunOptions = {}) {
    this.#work = new ComposeStepContext(context, journal, options);
  }

  get journal(): Journal {
    return this.#work.journal;
  }

  get isOvertaken(): boolean {
    return this.#work.isOvertaken;
  }

  async inspect(goal: RunGoal): Promise<ComposeRunView> {
    const now = this.#needsContainers(goal) ? await this.#containers(goal) : noContainers;
    return {
      data: this.journal.data,
      now,
      known: { ...this.#work.memory, preparedChanges: this.#work.preparedChanges },
    };
  }

  /** An update lists containers only when replacing them. A rollback lists them after restoring data and files. */
  #needsContainers(goal: RunGoal): boolean {
    const { state, changeover: rollout } = this.journal.data;
    if (goal === 'update') return isReplacingOrVerifying(state);
    const { done, skippedSteps: without } = this.#work.memory;
    return rollout !== null && (done.has('restore-files') || without.has('restore-files'));
  }

  /** Lists the project's containers. During a rollback, an engine error becomes `containers-not-restored`. */
  #containers(goal: RunGoal): Promise<ProjectContainers> {
    return this.#work.containers().catch((error: unknown) => {
      throw goal === 'rollback' ? toContainersNotRestoredError(error, this.journal.data) : error;
    });
  }

  planNextStep = planNextStep;

  getWaitSignal(goal: RunGoal): AbortSignal {
    return this.#work.contextFor(goal).engine.aborted;
  }

  async execute(step: ComposeStep, view: ComposeRunView): Promise<void> {
    if (step.kind !== 'announce') this.#work.invalidateContainers();
    try {
      await executeStep(step, this.#work, view);
    } catch (error) {
      if (error instanceof RetryableError || error instanceof InterruptedError) throw error;
      if (step.kind === 'start-data-services' || step.kind === 'end-stops')
        throw toContainersNotRestoredError(error, this.journal.data);
      if (!isRestoreStep(step)) throw error;
      this.#work.memory.failures.set('service' in step ? step.service : null, error);
      return;
    }
    this.#work.memory.done.add(stepNameOf(step));
  }

  switchToRollback(error: unknown): Promise<() => unknown> {
    return decideRollback(this.#work, error);
  }

  completeRun(): Promise<RunOutcome> {
    const { context, preparedChanges: found, freed, record } = this.#work;
    if (found === 'no change') return finishUnchangedRun(context, this.#work.prepared());
    return finishUpdatedRun(this.#work.replacement(), freed, record);
  }

  close(): void {
    this.#work.close();
  }
}

const noContainers: ProjectContainers = { containers: [], leftovers: [] };
