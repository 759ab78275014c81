import { Interrupted } from '../../../core/cancellation/cancelled.ts';
import type { ProjectContainers } from '../../../engine/containers/project-containers.ts';
import type { RunOutcome } from '../../run/log/run-outcome.ts';
import type { RunContext } from '../../run/run-context.ts';
import { type DrivenRun, type Goal, TryAgain } from '../../run/run-steps.ts';
import type { Journal } from '../../run/state/journal.ts';
import { isReplacing } from '../../run/state/run-state.ts';
import { finishUnchanged } from '../finish/finish-unchanged.ts';
import { finishUpdated } from '../finish/finish-updated.ts';
import { ComposeWork, type WorkOptions } from './compose-work.ts';
import { decideRollback } from './decide-rollback.ts';
import { executeStep, isRestoreStep } from './executors.ts';
import {
  type ComposeStep,
  type ComposeView,
  nextStep,
  stepName,
  toContainersNotRestoredError,
} from './next-step.ts';

/** Updates a compose project, or rolls it back. */
export class ComposeRun implements DrivenRun<ComposeView, ComposeStep> {
  readonly #work: ComposeWork;

  constructor(context: RunContext, journal: Journal, options: WorkOptions = {}) {
    this.#work = new ComposeWork(context, journal, options);
  }

  get journal(): Journal {
    return this.#work.journal;
  }

  get isOvertaken(): boolean {
    return this.#work.isOvertaken;
  }

  async look(goal: Goal): Promise<ComposeView> {
    const now = this.#needsContainers(goal) ? await this.#containers(goal) : noContainers;
    return { data: this.journal.data, now, known: { ...this.#work.memory, found: this.#work.found } };
  }

  /**
   * An update needs the list of containers only once it replaces them. A rollback needs it only once data and files are
   * restored.
   */
  #needsContainers(goal: Goal): boolean {
    const { state, changeover } = this.journal.data;
    if (goal === 'update') return isReplacing(state);
    const { done, without } = this.#work.memory;
    return changeover !== null && (done.has('restore-files') || without.has('restore-files'));
  }

  /** During a rollback, an engine error becomes `containers-not-restored`. */
  #containers(goal: Goal): Promise<ProjectContainers> {
    return this.#work.containers().catch((error: unknown) => {
      throw goal === 'rollback' ? toContainersNotRestoredError(error, this.journal.data) : error;
    });
  }

  next = nextStep;

  signalFor(goal: Goal): AbortSignal {
    return this.#work.contextFor(goal).engine.aborted;
  }

  async execute(step: ComposeStep, view: ComposeView): Promise<void> {
    if (step.kind !== 'announce') this.#work.forgetLook();
    try {
      await executeStep(step, this.#work, view);
    } catch (error) {
      if (error instanceof TryAgain || error instanceof Interrupted) throw error;
      if (!isRestoreStep(step)) throw this.#explained(step, error);
      this.#work.memory.failures.set('service' in step ? step.service : null, error);
      return;
    }
    this.#work.memory.done.add(stepName(step));
  }

  turnBack(error: unknown): Promise<() => unknown> {
    return decideRollback(this.#work, error);
  }

  end(): Promise<RunOutcome> {
    const { context, found, freed, record } = this.#work;
    if (found === 'no change') return finishUnchanged(context, this.#work.prepared());
    return finishUpdated(this.#work.replacement(), freed, record);
  }

  close(): void {
    this.#work.close();
  }

  #explained({ kind }: ComposeStep, error: unknown): unknown {
    const isStart = kind === 'start-data-services' || kind === 'end-stops';
    return isStart ? toContainersNotRestoredError(error, this.journal.data) : error;
  }
}

const noContainers: ProjectContainers = { containers: [], leftovers: [] };
