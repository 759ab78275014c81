import { EventEmitter, once } from 'node:events';
import { type Phase, type ProgressEvent, phases } from '../../core/progress/event.ts';
import { LegacyResultParser } from '../../core/progress/legacy-result-parser.ts';
import type { LogLineFields } from '../../core/progress/log-line.ts';
import { type RunResult, runResultSchema } from '../../core/progress/run-result.ts';
import { createRunWithDefaults } from '../../wire/api-client/parse-responses.ts';
import { isSuccessfulOutcome, launchStates, type RunState } from '../../wire/codes.ts';
import {
  automaticRollbackSchema,
  type Run,
  type RunStep,
  restorePointSchema,
  runSchema,
} from '../../wire/status.ts';
import type { InitialRunFacts } from '../deployment/updater-container.ts';

type LaunchState = (typeof launchStates)[number];
/** Result of a run. All fields except outcome and message may be unknown. */
export type PartialRunResult = Pick<RunResult, 'outcome' | 'message'> & Partial<RunResult>;

/** Log lines that are retained for clients that reconnect. A run usually has a few dozen lines. */
const maxRetainedLines = 1_000;
/** Maximum number of warnings per run. A limit is needed, because a waiting updater logs warnings repeatedly. */
const maxWarnings = 50;

/** Creates a run whose updater has not logged anything yet. */
export function createRun(
  { id, kind = 'update', from, to, startedAt, by = null, upgradePath = [] }: InitialRunFacts,
  state: LaunchState = 'launching',
  message = 'launching the updater',
): Run {
  const steps = [{ state, startedAt, endedAt: null, message }];
  return createRunWithDefaults({ id, kind, state, from, to, startedAt, message, steps, by, upgradePath });
}

/**
 * Reopens a finished run whose updater was restarted. Keeps only the preparation and launch steps, because the
 * updater's log contains all later steps.
 */
export function reopenRun(past: Run): Run {
  const fresh = createRun(past, 'launching', 'reading the updater log');
  const steps = past.steps.filter(({ state }) => isLaunchState(state));
  const last = steps.pop();
  return last ? { ...fresh, steps: [...steps, { ...last, endedAt: null }] } : fresh;
}

/**
 * State and log lines of one run. Lines are numbered from 1 in the order of the updater's log, so all servers use the
 * same numbers.
 */
export class RunRecord {
  #run: Run;
  #lines: ProgressEvent[] = [];
  #dropped = 0;
  #changes = 0;
  readonly #earlier = new LegacyResultParser();
  /** Emits `change`. Each event stream adds a listener, so the number of listeners is not limited. */
  readonly #news = new EventEmitter().setMaxListeners(0);

  constructor(run: Run) {
    this.#run = run;
  }

  /** Current state of the run. Each change creates a new object. */
  get run(): Run {
    return this.#run;
  }

  get hasEnded(): boolean {
    return this.#run.outcome !== null;
  }

  /** Number of the last line, including dropped lines; 0 if there are no lines. */
  get lineCount(): number {
    return this.#dropped + this.#lines.length;
  }

  /** Number of changes to the state or the lines. */
  get changeCount(): number {
    return this.#changes;
  }

  /** Returns the retained lines whose number is higher than the given number. */
  linesAfter(number: number): { number: number; event: ProgressEvent }[] {
    const from = Math.max(number - this.#dropped, 0);
    return this.#lines.slice(from).map((event, at) => ({ number: this.#dropped + from + at + 1, event }));
  }

  /** Resolves when the number of changes is higher than `changes`, or when the signal is aborted. */
  async waitForChange(changes: number, signal: AbortSignal): Promise<void> {
    if (this.#changes > changes || signal.aborted) return;
    await once(this.#news, 'change', { signal }).catch(() => {});
  }

  /** Sets the run's state before the updater's first log line. `percent` is the progress of the image pull. */
  setLaunchState(
    state: LaunchState,
    message: string,
    more: Partial<Pick<Run, 'percent' | 'jobs' | 'until'>> = {},
  ): void {
    if (!isLaunchState(this.#run.state)) return;
    this.#enter(state, { percent: null, jobs: [], until: null, message, ...more }, new Date().toISOString());
  }

  /** Copies the state of a run that another server is preparing, or the run's stored outcome. */
  mirror(run: Run): void {
    if (isLaunchState(this.#run.state) || (run.outcome !== null && !this.hasEnded)) this.#change(run);
  }

  setFields(
    what: Partial<Pick<Run, 'cancelRequestedBy' | 'downtimeSeconds' | 'log' | 'restorePoint' | 'rolledBack'>>,
  ): void {
    this.#change(what);
  }

  /** Adds a log line and updates the state of the run. */
  add(event: ProgressEvent, fields: LogLineFields = {}): void {
    this.#lines.push(event);
    if (this.#lines.length > maxRetainedLines)
      this.#dropped += this.#lines.splice(0, maxRetainedLines / 10).length;
    if (this.hasEnded) {
      this.#change({});
      return;
    }
    const restorePoint = restorePointSchema.read(fields.restorePoint);
    const rolledBack = automaticRollbackSchema.read(fields.rolledBack);
    // The measured downtime ended when the new version started, which then failed.
    if (restorePoint || rolledBack)
      this.#change({
        ...(restorePoint && { restorePoint }),
        ...(rolledBack && { rolledBack, downtimeSeconds: null }),
      });
    const { phase, percent, message, time, level } = event;
    const result = runResultSchema.safeParse(fields.result).data ?? this.#earlier.parseResult(event);
    if (result !== null) {
      this.end(result, new Date(time));
      return;
    }
    if (level === 'warn') this.warn(message);
    if (phase === 'done') this.#change({ message });
    else this.#advance(phase, percent ?? null, event);
  }

  /** Sets the outcome of the run. Only the first call has an effect. */
  end({ outcome: word, message, ...why }: PartialRunResult, at = new Date()): void {
    if (this.hasEnded) return;
    // `usage` is an error in the updater's command line: nothing was inspected, so the run counts as refused. A fetch
    // changes nothing, so its run counts as unchanged.
    const outcome =
      word === 'usage' ? 'refused' : word === 'fetched' || word === 'rehearsed' ? 'unchanged' : word;
    const endedAt = at.toISOString();
    const steps = endLast(this.#run.steps, endedAt);
    const { code = null, detail: cause = null, advice = null, facts } = why;
    const requiredRelease = runSchema.fields.requiredRelease.read(facts?.requiredRelease) ?? null;
    if (!isSuccessfulOutcome(outcome)) this.#change({ code, cause, advice, requiredRelease });
    this.#change({ state: outcome, outcome, message, percent: null, jobs: [], until: null, steps, endedAt });
  }

  /** Sets the phase, but never to an earlier phase: a restarted updater logs its finished phases again. */
  #advance(
    phase: Exclude<Phase, 'done'>,
    percent: number | null,
    { message, time }: Pick<ProgressEvent, 'message' | 'time'>,
  ): void {
    const reached = this.#run.phase;
    if (reached !== null && phases.indexOf(phase) < phases.indexOf(reached)) {
      this.#change({ message });
    } else if (phase === reached) {
      const known = [this.#run.percent, percent].filter((value) => value !== null);
      const most = known.length > 0 ? Math.max(...known) : null;
      this.#enter(phase, { percent: most, message }, time);
    } else {
      this.#enter(phase, { phase, percent, message, jobs: [], until: null }, time);
    }
  }

  #enter(state: RunState, what: Partial<Run> & { message: string }, at: string): void {
    const { state: before, steps } = this.#run;
    const { message } = what;
    const last = steps.at(-1);
    // The first change replaces the initial step of a new run instead of adding a step.
    const isFirst = this.#changes === 0 && steps.length === 1;
    const now =
      (state === before || isFirst) && last
        ? [...steps.slice(0, -1), { ...last, state, message }]
        : [...endLast(steps, at), { state, startedAt: at, endedAt: null, message }];
    this.#change({ ...what, state, steps: now });
  }

  /** Adds a warning, unless the run already has the warning or the maximum number of warnings. */
  warn(message: string): void {
    const { warnings } = this.#run;
    if (warnings.includes(message) || warnings.length >= maxWarnings) return;
    this.#change({ warnings: [...warnings, message] });
  }

  #change(what: Partial<Run>): void {
    this.#run = { ...this.#run, ...what };
    this.#changes++;
    this.#news.emit('change');
  }
}

export const isLaunchState = (state: RunState): state is LaunchState =>
  launchStates.some((known) => known === state);

const endLast = (steps: readonly RunStep[], endedAt: string): RunStep[] =>
  steps.map((step, at) => (at === steps.length - 1 && step.endedAt === null ? { ...step, endedAt } : step));
