import { Compose, type ComposeModel } from '../../../engine/cli/compose.ts';
import { watchContainerStops } from '../../../engine/containers/container-events.ts';
import {
  listProjectContainers,
  type ProjectContainers,
} from '../../../engine/containers/project-containers.ts';
import type { Container } from '../../../engine/objects/container.ts';
import type { RestorePointRecord } from '../../data/copies/restore-point-record.ts';
import type { OutcomeDetails } from '../../run/log/outcome-details.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { RunGoal } from '../../run/run-steps.ts';
import { type Journal, type JournalData, journalOutcomeFactsOf } from '../../run/state/journal.ts';
import { hasNewVersionStarted, type Rollout } from '../../run/state/rollout.ts';
import { isReplacingOrVerifying, rollbackOf } from '../../run/state/run-state.ts';
import type { ProjectObservation } from '../concurrent-changes/require-same-containers.ts';
import { hasNothingToUpdate } from '../finish/finish-unchanged.ts';
import type { UnusedOldImages } from '../finish/finish-updated.ts';
import { ContainerStartTimes } from '../health/health-evaluator.ts';
import type { PreparedPlan, ProjectUpdatePlan } from '../plan/prepared-plan.ts';
import type { BackgroundPull } from '../pull/background-pull.ts';
import type { UpAttempts } from '../replace/replace-service.ts';
import type { JournaledContext, ReplacementContext } from '../replace/replacement.ts';
import type { KnownStopRequests } from '../rollback/list-restore-steps.ts';
import type { ContainerRestoreContext } from '../rollback/restore-containers.ts';
import { createRestoreStartCounter } from '../rollback/restore-data.ts';
import type { PreviousFileTexts } from '../rollback/restore-files-and-tags.ts';
import type { DataSaveResult } from '../save/save-data.ts';
import type { ComposeStepKind, UnjournaledRunState } from './next-step.ts';

/** Time in ms for which a list of containers is reused. */
const freshMs = 500;

/**
 * Results that an update collects before it replaces containers. If the process is killed, only the journal remains.
 */
interface UpdatePreparation {
  plan: ProjectUpdatePlan;
  /** Compose's model of the new files, requested before the pull; null if the files depend on the pulled images. */
  earlyModel: Promise<ComposeModel | null>;
  /** Check of the host. The check must succeed before a container is stopped. */
  checked: Promise<void>;
  backgroundPull: BackgroundPull;
  /** Journal of the previous run; null if there was none. */
  earlier: JournalData | null;
  /** Unfinished containers of a killed compose command that existed when the run began. */
  debris: readonly Container[];
  prepared?: PreparedPlan;
  changeover?: Rollout;
  look?: ProjectObservation;
  saved?: DataSaveResult | null;
}

export interface ComposeRunOptions {
  preparation?: UpdatePreparation;
  /** Returns the details for the last log line of a run that ends before it replaces containers. */
  facts?: () => OutcomeDetails;
  /** Whether this process rolls back an update whose process was killed. */
  wasKilled?: boolean;
  without?: readonly ComposeStepKind[];
}

/** State that a run's steps share: the journal, and this process's results and observations. */
export class ComposeStepContext {
  /** Context for steps that a signal, such as SIGTERM, may interrupt. */
  readonly context: JournaledContext;
  /** Context for steps that no signal may interrupt: an interrupted step would leave containers of both versions. */
  readonly lasting: JournaledContext;
  readonly journal: Journal;
  readonly #preparation: UpdatePreparation | null;
  readonly facts: () => OutcomeDetails;
  /** Record of the restore point that this process has created; null if it has created none. */
  record: RestorePointRecord | null = null;
  freed: Promise<UnusedOldImages | null> = Promise.resolve(null);
  readonly #upTries = new Map<string, UpAttempts>();
  readonly #starts = new ContainerStartTimes();
  /** Counts the starts of each container while data is restored. */
  readonly startsWhileRestoring = createRestoreStartCounter();
  readonly #wasKilled: boolean;
  #watch: ReturnType<typeof watchContainerStops> | null = null;
  #seen: ProjectObservation | null = null;
  /** How often another process has started the new version during a restore. */
  newVersionStarts = 0;
  /** Ids of containers whose privileges on the host have passed the check. */
  readonly #agreed = new Set<string>();
  /** Facts that determine the next step, but are neither in the journal nor reported by the engine. */
  readonly memory = {
    done: new Set<string>(),
    skippedSteps: new Set<ComposeStepKind>(),
    rebuilt: new Set<string>(),
    idsBeforeRestore: new Set<string>(),
    successors: new Map<string, string>(),
    failures: new Map<string | null, unknown>(),
  };

  constructor(
    context: RunContext,
    journal: Journal,
    { preparation, facts, wasKilled = false, without = [] }: ComposeRunOptions = {},
  ) {
    this.context = { ...context, journal };
    this.lasting = { ...this.context, engine: context.engine.uncancellable() };
    this.journal = journal;
    this.#preparation = preparation ?? null;
    this.facts = facts ?? (() => journalOutcomeFactsOf(journal.data));
    this.#wasKilled = wasKilled;
    this.memory.skippedSteps = new Set(without);
  }

  /** Signals may interrupt an update until it replaces containers, but never a rollback. */
  contextFor(goal: RunGoal): JournaledContext {
    return goal === 'update' && !isReplacingOrVerifying(this.journal.data.state)
      ? this.context
      : this.lasting;
  }

  /**
   * Returns the project's containers, from a list that is at most 500 ms old. During an update, containers of services
   * that it does not replace may be older.
   */
  async containers(): Promise<ProjectContainers> {
    if (this.#seen !== null && performance.now() - this.#seen.requestedAt < freshMs) return this.#seen.found;
    const found = await this.#list(this.#seen?.found.containers ?? []);
    await this.recordContainers({ found, requestedAt: performance.now() }, null);
    return found;
  }

  /**
   * Unchanged containers in `previous` are inspected again only if this run updates or saves their service. An update
   * does not list the other containers again until the new version is healthy.
   */
  #list(previous: readonly Container[]): Promise<ProjectContainers> {
    const { changeover: rollout, point, project, state } = this.journal.data;
    const moved = rollout?.moved.map(({ name }) => name) ?? [];
    const services = new Set([...moved, ...(point?.services ?? [])]);
    const listsOnlyServices = previous.length > 0 && rollbackOf(state) === null;
    return listProjectContainers(this.lasting.engine, project.name, {
      containers: previous,
      services,
      listsOnlyServices,
    });
  }

  /**
   * Lists and records the containers after `up`, which may have started some of them.
   * @param before - the containers listed before `up`
   */
  async listContainersAfterUp(before: ProjectContainers): Promise<void> {
    const found = await this.#list(before.containers);
    await this.recordContainers({ found, requestedAt: performance.now() }, performance.now());
  }

  /**
   * Records a list of containers.
   * @param startedAt - the start time of containers that were started since the previous list, from
   * `performance.now()`; null if unknown
   */
  async recordContainers(seen: ProjectObservation, startedAt: number | null): Promise<void> {
    const { found } = seen;
    this.#seen = seen;
    this.#starts.record(found.containers, startedAt);
    const { state, started, changeover: rollout } = this.journal.data;
    // Record the new version's start in the journal, because its container may be removed later.
    const isNews = rollout !== null && !started && hasNewVersionStarted(rollout, found.containers);
    if (isNews && isReplacingOrVerifying(state) && rollbackOf(state) === null)
      await this.journal.tryWrite({ started: true });
  }

  get preparedChanges(): UnjournaledRunState['preparedChanges'] {
    const { prepared, plan } = this.#preparation ?? {};
    if (!prepared) return 'nothing';
    if (hasNothingToUpdate(prepared)) return 'no change';
    return plan?.point == null ? 'changes' : 'changes, with data to save';
  }

  /**
   * Whether another process started the new version before this run replaced any container. If so, the old version must
   * not start again.
   */
  get isOvertaken(): boolean {
    return this.memory.done.has('leave-new-version');
  }

  get preparation(): UpdatePreparation {
    return present(this.#preparation, 'a plan');
  }

  prepared(): PreparedPlan {
    return present(this.preparation.prepared, 'a prepared plan');
  }

  /** Returns the rollout that is about to be written to the journal. */
  plannedRollout(): Rollout {
    return present(this.preparation.changeover, 'a changeover');
  }

  changeover(): Rollout {
    return present(this.journal.data.changeover, 'a changeover');
  }

  /** Returns the previous texts of the files that this process overwrites, keyed by path. */
  previousTexts(): PreviousFileTexts {
    const { changes = [] } = this.#preparation?.prepared ?? {};
    return new Map(changes.flatMap(({ path, before }) => (before === null ? [] : [[path, before] as const])));
  }

  upAttemptsOf(service: string): UpAttempts {
    const tries = this.#upTries.get(service) ?? {};
    this.#upTries.set(service, tries);
    return tries;
  }

  replacement(): ReplacementContext {
    const compose = new Compose(this.lasting.engine, this.journal.data.project);
    return { ...this.lasting, compose, changeover: this.changeover(), starts: this.#starts };
  }

  restoreContext(): ContainerRestoreContext {
    const { successors } = this.memory;
    const onRebuilt = (id: string) => this.#rebuilt(id);
    return { ...this.lasting, successors, checkedContainerIds: this.#agreed, onRebuilt };
  }

  /** Makes the next `containers` call request a new list. */
  invalidateContainers(): void {
    if (this.#seen !== null) this.#seen = { ...this.#seen, requestedAt: Number.NEGATIVE_INFINITY };
  }

  close(): void {
    this.#preparation?.saved?.endWatch();
    this.#watch?.close();
  }

  /** Called before containers are replaced: disables cancellation, and watches for stops of old containers. */
  beginReplacing(): void {
    this.context.cancellation.disable();
    const ids = this.changeover().containers.map(({ id }) => id);
    this.#watch ??= watchContainerStops(this.lasting.engine, ids);
  }

  /**
   * Returns the stops in progress. The container list does not show them, because the engine reports a stopping
   * container as running.
   */
  pendingStops(): KnownStopRequests {
    return { wasKilled: this.#wasKilled, stopping: this.#watch?.underWay() ?? [] };
  }

  /** Records which containers exist when the rollback begins to restore containers. */
  beginRestoring({ containers, leftovers }: ProjectContainers): void {
    this.memory.idsBeforeRestore = new Set([...containers, ...leftovers].map(({ id }) => id));
  }

  /** Makes completed rollback steps run again, except for steps of the given kinds. */
  restoreAgain(kept: readonly ComposeStepKind[]): void {
    const { done, failures, rebuilt } = this.memory;
    for (const name of [...done]) if (!kept.some((kind) => kind === name)) done.delete(name);
    failures.clear();
    rebuilt.clear();
  }

  /** Records that the container with this old id was recreated, so that its steps run again. */
  #rebuilt(id: string): void {
    const { done, rebuilt } = this.memory;
    rebuilt.add(id);
    for (const name of [`start ${id}`, `stop-old ${id}`, `connect ${id}`, 'await-old', 'compare'])
      done.delete(name);
  }
}

function present<T>(value: T | null | undefined, what: string): T {
  if (value == null) throw new Error(`this run has not made ${what} yet`);
  return value;
}
