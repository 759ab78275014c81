import { watchStops } from '../../../engine/api/events.ts';
import { listProject, type ProjectContainers } from '../../../engine/api/project-containers.ts';
import { Compose, type ComposeModel } from '../../../engine/cli/compose.ts';
import type { Container } from '../../../engine/container.ts';
import type { RestorePointRecord } from '../../data/point-record.ts';
import type { Goal } from '../../run/drive.ts';
import type { EndingFacts } from '../../run/log/ending-facts.ts';
import type { RunContext } from '../../run/run-context.ts';
import { type Changeover, hasNewVersionStarted } from '../../run/state/changeover.ts';
import { type Journal, type JournalData, journalEndingFactsOf } from '../../run/state/journal.ts';
import { isReplacing, rollbackOf } from '../../run/state/run-state.ts';
import type { Plan, PreparedPlan } from '../plan/plan.ts';
import type { EarlyPull } from '../pull/early-pull.ts';
import type { UpAttempts } from '../replace/bring-up.ts';
import type { UnusedImages } from '../replace/end-updated.ts';
import { StartTimes } from '../replace/health.ts';
import type { JournaledContext, Replacement } from '../replace/replacement.ts';
import type { RestoreContext } from '../replace/rollback/restore-containers.ts';
import { startsWhileRestoring } from '../replace/rollback/restore-data.ts';
import type { PreviousTexts } from '../replace/rollback/restore-files-and-tags.ts';
import type { PendingStops } from '../replace/rollback/restore-steps.ts';
import type { ProjectObservation } from '../replace/same-containers.ts';
import type { SavedData } from '../replace/save.ts';
import type { Knowledge, StepKind } from './next-step.ts';
import { isUnchanged } from './unchanged.ts';

/** Time in ms for which a list of containers counts as current. */
const freshMs = 500;

/** Results of an update before it replaces anything. A run that continues after a kill has only the journal. */
interface UpdatePreparation {
  plan: Plan;
  /** Compose model of the files with the planned changes. */
  early: Promise<ComposeModel | null>;
  /** Check of the host, which must succeed before a container is stopped. */
  checked: Promise<void>;
  earlyPull: EarlyPull;
  /** Journal of the previous run. */
  earlier: JournalData | null;
  /** Containers that a killed compose command had left when the run began. */
  debris: readonly Container[];
  prepared?: PreparedPlan;
  changeover?: Changeover;
  look?: ProjectObservation;
  saved?: SavedData | null;
}

export interface WorkOptions {
  preparation?: UpdatePreparation;
  /** Returns facts for the last line of a run that ends before it replaces anything. */
  facts?: () => EndingFacts;
  /** Whether the previous run was killed. */
  wasKilled?: boolean;
  /** Steps that this run does not need. */
  without?: readonly StepKind[];
}

/** Shared state of the steps of a run: its journal, and the results and observations of this process. */
export class ComposeWork {
  /** Context for work that signals interrupt. */
  readonly context: JournaledContext;
  /** Context for work that no signal interrupts, because that would leave containers of both versions. */
  readonly lasting: JournaledContext;
  readonly journal: Journal;
  readonly #preparation: UpdatePreparation | null;
  readonly facts: () => EndingFacts;
  /** Restore point that this process has created. */
  record: RestorePointRecord | null = null;
  freed: Promise<UnusedImages | null> = Promise.resolve(null);
  readonly #upTries = new Map<string, UpAttempts>();
  readonly #starts = new StartTimes();
  /** Counter of containers that were started while data was restored. */
  readonly startsWhileRestoring = startsWhileRestoring();
  readonly #wasKilled: boolean;
  #watch: ReturnType<typeof watchStops> | null = null;
  #seen: ProjectObservation | null = null;
  /** Number of times that the new version was started during a restore. */
  overtakings = 0;
  /** Ids of containers whose rights were checked. */
  readonly #agreed = new Set<string>();
  /** Facts that determine the next step. */
  readonly memory = {
    done: new Set<string>(),
    without: new Set<StepKind>(),
    rebuilt: new Set<string>(),
    before: new Set<string>(),
    successors: new Map<string, string>(),
    failures: new Map<string | null, unknown>(),
  };

  constructor(
    context: RunContext,
    journal: Journal,
    { preparation, facts, wasKilled = false, without = [] }: WorkOptions = {},
  ) {
    this.context = { ...context, journal };
    this.lasting = { ...this.context, engine: context.engine.uncancellable() };
    this.journal = journal;
    this.#preparation = preparation ?? null;
    this.facts = facts ?? (() => journalEndingFactsOf(journal.data));
    this.#wasKilled = wasKilled;
    this.memory.without = new Set(without);
  }

  /** Returns the context for a step. Signals interrupt an update only until it replaces containers. */
  contextFor(goal: Goal): JournaledContext {
    return goal === 'update' && !isReplacing(this.journal.data.state) ? this.context : this.lasting;
  }

  /** Returns the containers of the project, from a list that is at most 500 ms old. */
  async containers(): Promise<ProjectContainers> {
    if (this.#seen !== null && performance.now() - this.#seen.at < freshMs) return this.#seen.found;
    const found = await this.#list(this.#seen?.found.containers ?? []);
    await this.saw({ found, at: performance.now() }, null);
    return found;
  }

  /**
   * Lists the containers.
   * @param earlier containers of a previous list: containers of other services are inspected again only if they differ
   */
  #list(earlier: readonly Container[]): Promise<ProjectContainers> {
    const { changeover, point, project } = this.journal.data;
    const moved = changeover?.moved.map(({ name }) => name) ?? [];
    const services = new Set([...moved, ...(point?.services ?? [])]);
    return listProject(this.lasting.engine, project.name, { containers: earlier, services });
  }

  /**
   * Lists the containers after a call of `up`, which may have started containers. @param before list before the call
   */
  async lookAfterUp(before: ProjectContainers): Promise<void> {
    const found = await this.#list(before.containers);
    await this.saw({ found, at: performance.now() }, performance.now());
  }

  /**
   * Records a list of containers. @param startedAt start time of containers that were not running in the previous list;
   * null if the time is unknown
   */
  async saw(seen: ProjectObservation, startedAt: number | null): Promise<void> {
    const { found } = seen;
    this.#seen = seen;
    this.#starts.note(found.containers, startedAt);
    const { state, started, changeover } = this.journal.data;
    // Recorded in the journal, because the container may be removed later.
    const isNews = changeover !== null && !started && hasNewVersionStarted(changeover, found.containers);
    if (isNews && isReplacing(state) && rollbackOf(state) === null)
      await this.journal.note({ started: true });
  }

  get found(): Knowledge['found'] {
    const { prepared, plan } = this.#preparation ?? {};
    if (!prepared) return 'nothing';
    if (isUnchanged(prepared)) return 'no change';
    return plan?.point == null ? 'changes' : 'changes, with data to save';
  }

  /** Whether another version was started before anything was replaced: the old version is then not started again. */
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
  planned(): Changeover {
    return present(this.preparation.changeover, 'a changeover');
  }

  changeover(): Changeover {
    return present(this.journal.data.changeover, 'a changeover');
  }

  /** Returns the old texts of files that this process has overwritten. */
  oldTexts(): PreviousTexts {
    const { changes = [] } = this.#preparation?.prepared ?? {};
    return new Map(changes.flatMap(({ path, before }) => (before === null ? [] : [[path, before] as const])));
  }

  triesOf(service: string): UpAttempts {
    const tries = this.#upTries.get(service) ?? {};
    this.#upTries.set(service, tries);
    return tries;
  }

  replacement(): Replacement {
    const compose = new Compose(this.lasting.engine, this.journal.data.project);
    return { ...this.lasting, compose, changeover: this.changeover(), starts: this.#starts };
  }

  restoreWork(): RestoreContext {
    const { successors } = this.memory;
    const onRebuilt = (id: string) => this.#rebuilt(id);
    return { ...this.lasting, successors, agreed: this.#agreed, onRebuilt };
  }

  /** Makes the next call of `containers` request a new list. */
  forgetLook(): void {
    if (this.#seen !== null) this.#seen = { ...this.#seen, at: Number.NEGATIVE_INFINITY };
  }

  close(): void {
    this.#preparation?.saved?.endWatch();
    this.#watch?.close();
  }

  /** Rules out cancellation and begins to watch for stops, because containers are replaced from now on. */
  beginReplacing(): void {
    this.context.cancellation.tooLate();
    const ids = this.changeover().containers.map(({ id }) => id);
    this.#watch ??= watchStops(this.lasting.engine, ids);
  }

  /** Returns the known stops: these containers may exit at any moment. */
  stopsUnderWay(): PendingStops {
    return { wasKilled: this.#wasKilled, stopping: this.#watch?.underWay() ?? [] };
  }

  /** Records the containers that exist when the rollback begins. */
  beginRestoring({ containers, leftovers }: ProjectContainers): void {
    this.memory.before = new Set([...containers, ...leftovers].map(({ id }) => id));
  }

  /** Makes the steps that restore containers run again, except for the given steps. */
  restoreAgain(kept: readonly StepKind[]): void {
    const { done, failures, rebuilt } = this.memory;
    for (const name of [...done]) if (!kept.some((kind) => kind === name)) done.delete(name);
    failures.clear();
    rebuilt.clear();
  }

  /** Records that a container was recreated: steps that were completed for the previous container no longer count. */
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
