import { watchStops } from '../../../engine/api/events.ts';
import { listProject, type ProjectContainers } from '../../../engine/api/project-containers.ts';
import { Compose, type Model } from '../../../engine/cli/compose.ts';
import type { Container } from '../../../engine/container.ts';
import type { PointRecord } from '../../data/point-record.ts';
import type { Goal } from '../../run/drive.ts';
import type { EndingFacts } from '../../run/log/ending-facts.ts';
import type { RunContext } from '../../run/run-context.ts';
import { type Changeover, newHasStarted } from '../../run/state/changeover.ts';
import { endingFactsOf, type Journal, type JournalData } from '../../run/state/journal.ts';
import { isReplacing, wayBackOf } from '../../run/state/run-state.ts';
import type { Plan, PreparedPlan } from '../plan/plan.ts';
import type { EarlyPull } from '../pull/early-pull.ts';
import type { UpTries } from '../replace/bring-up.ts';
import type { Freeable } from '../replace/end-updated.ts';
import { StartTimes } from '../replace/health.ts';
import type { JournaledContext, Replacement } from '../replace/replacement.ts';
import type { RestoreWork } from '../replace/rollback/restore-containers.ts';
import { startsWhileRestoring } from '../replace/rollback/restore-data.ts';
import type { OldTexts } from '../replace/rollback/restore-files-and-tags.ts';
import type { StopsUnderWay } from '../replace/rollback/restore-steps.ts';
import type { ContainersSeen } from '../replace/same-containers.ts';
import type { Saved } from '../replace/save.ts';
import type { Knowledge, StepKind } from './next-step.ts';
import { isUnchanged } from './unchanged.ts';

/** Milliseconds: for so long a look is as good as another one. */
const freshMs = 500;

/** What an update has found and made before it replaces anything. A run that goes on after a kill has only the journal. */
interface UpdatePreparation {
  plan: Plan;
  /** The model by the files as they will be. */
  early: Promise<Model | null>;
  /** The check of the host, which must succeed before a container is stopped. */
  checked: Promise<void>;
  earlyPull: EarlyPull;
  /** The journal of the run before. */
  earlier: JournalData | null;
  /** What a killed compose call had left when the run began. */
  debris: readonly Container[];
  prepared?: PreparedPlan;
  changeover?: Changeover;
  look?: ContainersSeen;
  saved?: Saved | null;
}

export interface WorkOptions {
  preparation?: UpdatePreparation;
  /** For the last line of a run that ends before it replaces anything. */
  facts?: () => EndingFacts;
  /** The run before was killed. */
  wasKilled?: boolean;
  /** Steps that this run does not need. */
  without?: readonly StepKind[];
}

/** What the steps of a run share: its journal, and what this process has found, made and seen. */
export class ComposeWork {
  /** Signals end what works with it. */
  readonly context: JournaledContext;
  /** No signal ends what works with it: half of the containers would be of one version, half of the other. */
  readonly lasting: JournaledContext;
  readonly journal: Journal;
  readonly #preparation: UpdatePreparation | null;
  readonly facts: () => EndingFacts;
  /** The restore point that this process has made. */
  record: PointRecord | null = null;
  freed: Promise<Freeable | null> = Promise.resolve(null);
  readonly #upTries = new Map<string, UpTries>();
  readonly #starts = new StartTimes();
  /** What was started while data was restored. */
  readonly startsWhileRestoring = startsWhileRestoring();
  readonly #wasKilled: boolean;
  #watch: ReturnType<typeof watchStops> | null = null;
  #seen: ContainersSeen | null = null;
  /** How often the new version was started during a restore. */
  overtakings = 0;
  /** Ids of containers whose rights were checked. */
  readonly #agreed = new Set<string>();
  /** What `next` decides by. */
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
    this.facts = facts ?? (() => endingFactsOf(journal.data));
    this.#wasKilled = wasKilled;
    this.memory.without = new Set(without);
  }

  /** Until containers are replaced, signals end what works on the way to the new version. */
  contextFor(goal: Goal): JournaledContext {
    return goal === 'update' && !isReplacing(this.journal.data.state) ? this.context : this.lasting;
  }

  /** The project as it is now, or was a moment ago. */
  async containers(): Promise<ProjectContainers> {
    if (this.#seen !== null && performance.now() - this.#seen.at < freshMs) return this.#seen.found;
    const found = await this.#list(this.#seen?.found.containers ?? []);
    await this.saw({ found, at: performance.now() }, null);
    return found;
  }

  /** @param earlier containers of an earlier look, of which those of other services are inspected again only if they differ */
  #list(earlier: readonly Container[]): Promise<ProjectContainers> {
    const { changeover, point, project } = this.journal.data;
    const moved = changeover?.moved.map(({ name }) => name) ?? [];
    const services = new Set([...moved, ...(point?.services ?? [])]);
    return listProject(this.lasting.engine, project.name, { containers: earlier, services });
  }

  /** The same after a call of `up`, which may have started containers. @param before the look before the call */
  async lookAfterUp(before: ProjectContainers): Promise<void> {
    const found = await this.#list(before.containers);
    await this.saw({ found, at: performance.now() }, performance.now());
  }

  /** @param startedAt when containers were started that were not running at the look before; null if that is not known */
  async saw(seen: ContainersSeen, startedAt: number | null): Promise<void> {
    const { found } = seen;
    this.#seen = seen;
    this.#starts.note(found.containers, startedAt);
    const { state, started, changeover } = this.journal.data;
    // It is in the journal, because the container may be gone later.
    const isNews = changeover !== null && !started && newHasStarted(changeover, found.containers);
    if (isNews && isReplacing(state) && wayBackOf(state) === null) await this.journal.note({ started: true });
  }

  get found(): Knowledge['found'] {
    const { prepared, plan } = this.#preparation ?? {};
    if (!prepared) return 'nothing';
    if (isUnchanged(prepared)) return 'no change';
    return plan?.point == null ? 'changes' : 'changes, with data to save';
  }

  /** Another version was started before anything was replaced: the old one is not started again. */
  get isOvertaken(): boolean {
    return this.memory.done.has('leave-new-version');
  }

  get preparation(): UpdatePreparation {
    return present(this.#preparation, 'a plan');
  }

  prepared(): PreparedPlan {
    return present(this.preparation.prepared, 'a prepared plan');
  }

  /** What is about to be in the journal. */
  planned(): Changeover {
    return present(this.preparation.changeover, 'a changeover');
  }

  changeover(): Changeover {
    return present(this.journal.data.changeover, 'a changeover');
  }

  /** The old texts of files that this process has overwritten. */
  oldTexts(): OldTexts {
    const { changes = [] } = this.#preparation?.prepared ?? {};
    return new Map(changes.flatMap(({ path, before }) => (before === null ? [] : [[path, before] as const])));
  }

  triesOf(service: string): UpTries {
    const tries = this.#upTries.get(service) ?? {};
    this.#upTries.set(service, tries);
    return tries;
  }

  replacement(): Replacement {
    const compose = new Compose(this.lasting.engine, this.journal.data.project);
    return { ...this.lasting, compose, changeover: this.changeover(), starts: this.#starts };
  }

  restoreWork(): RestoreWork {
    const { successors } = this.memory;
    const onRebuilt = (id: string) => this.#rebuilt(id);
    return { ...this.lasting, successors, agreed: this.#agreed, onRebuilt };
  }

  /** The next look is a new one. */
  forgetLook(): void {
    if (this.#seen !== null) this.#seen = { ...this.#seen, at: Number.NEGATIVE_INFINITY };
  }

  close(): void {
    this.#preparation?.saved?.endWatch();
    this.#watch?.close();
  }

  /** From here on, containers are replaced. */
  beginReplacing(): void {
    this.context.cancellation.tooLate();
    const ids = this.changeover().containers.map(({ id }) => id);
    this.#watch ??= watchStops(this.lasting.engine, ids);
  }

  /** What was told to stop, and may end at any moment. */
  stopsUnderWay(): StopsUnderWay {
    return { wasKilled: this.#wasKilled, stopping: this.#watch?.underWay() ?? [] };
  }

  /** The way back begins with these containers. */
  beginRestoring({ containers, leftovers }: ProjectContainers): void {
    this.memory.before = new Set([...containers, ...leftovers].map(({ id }) => id));
  }

  /** What brings containers back is done once more, after these steps. */
  restoreAgain(kept: readonly StepKind[]): void {
    const { done, failures, rebuilt } = this.memory;
    for (const name of [...done]) if (!kept.some((kind) => kind === name)) done.delete(name);
    failures.clear();
    rebuilt.clear();
  }

  /** A container was recreated: the steps that were done with the one before no longer count. */
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
