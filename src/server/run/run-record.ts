import { EventEmitter, once } from 'node:events';
import { EarlierUpdater } from '../../core/progress/earlier-updater.ts';
import { type Phase, type ProgressEvent, phases } from '../../core/progress/event.ts';
import type { LineFields } from '../../core/progress/line.ts';
import { type RunResult, runResultSchema } from '../../core/progress/run-result.ts';
import { isGoodEnd, launchStates, type RunState } from '../../wire/codes.ts';
import { runOf } from '../../wire/reader-shapes.ts';
import { pointShape, type Run, type RunStep, rolledBackShape, runShape } from '../../wire/status.ts';
import type { RunOrigin } from '../place/updater-container.ts';

type LaunchState = (typeof launchStates)[number];
/** A result, or the parts of it that are known. */
export type KnownResult = Pick<RunResult, 'outcome' | 'message'> & Partial<RunResult>;

/** Lines that are kept for those who come back; a run has some dozens. */
const keptLines = 1_000;
/** An updater that waits says so again and again. */
const keptWarnings = 50;

/** A run of which nothing has been heard. */
export function freshRun(
  { id, kind = 'update', from, to, startedAt, by = null, upgradePath = [] }: RunOrigin,
  state: LaunchState = 'launching',
  message = 'launching the updater',
): Run {
  const steps = [{ state, startedAt, endedAt: null, message }];
  return runOf({ id, kind, state, from, to, startedAt, message, steps, by, upgradePath });
}

/** A run that was over and goes on: its log tells it again from the first line, and nothing else what was before that. */
export function runAgain(past: Run): Run {
  const fresh = freshRun(past, 'launching', 'reading the updater log');
  const steps = past.steps.filter(({ state }) => isLaunchState(state));
  const last = steps.pop();
  return last ? { ...fresh, steps: [...steps, { ...last, endedAt: null }] } : fresh;
}

/**
 * One run as it unfolds: its state, and the lines of its log, numbered from 1 in the order in which the updater wrote
 * them, so that every server counts them alike.
 */
export class RunRecord {
  #run: Run;
  #lines: ProgressEvent[] = [];
  #dropped = 0;
  #changes = 0;
  readonly #earlier = new EarlierUpdater();
  /** One listener for each event stream. */
  readonly #news = new EventEmitter().setMaxListeners(0);

  constructor(run: Run) {
    this.#run = run;
  }

  /** Never changed in place. */
  get run(): Run {
    return this.#run;
  }

  get hasEnded(): boolean {
    return this.#run.outcome !== null;
  }

  /** The number of the last line. */
  get lineCount(): number {
    return this.#dropped + this.#lines.length;
  }

  /** Counts every change of anything. */
  get changes(): number {
    return this.#changes;
  }

  /** The lines after that number, as far as they are kept; each with its own. */
  linesAfter(number: number): { number: number; event: ProgressEvent }[] {
    const from = Math.max(number - this.#dropped, 0);
    return this.#lines.slice(from).map((event, at) => ({ number: this.#dropped + from + at + 1, event }));
  }

  /** Resolves once there have been more changes than that, or the signal is given. */
  async changeAfter(changes: number, signal: AbortSignal): Promise<void> {
    if (this.#changes > changes || signal.aborted) return;
    await once(this.#news, 'change', { signal }).catch(() => {});
  }

  /** What happens before the updater runs. Percent is of the pull. */
  prepare(
    state: LaunchState,
    message: string,
    more: Partial<Pick<Run, 'percent' | 'jobs' | 'until'>> = {},
  ): void {
    if (!isLaunchState(this.#run.state)) return;
    this.#enter(state, { percent: null, jobs: [], until: null, message, ...more }, new Date().toISOString());
  }

  /** What another server of the instance tells of a run that it prepares, or how it has seen the run end. */
  mirror(run: Run): void {
    if (isLaunchState(this.#run.state) || (run.outcome !== null && !this.hasEnded)) this.#change(run);
  }

  /** What is found out besides. */
  note(
    what: Partial<Pick<Run, 'cancelRequestedBy' | 'downtimeSeconds' | 'log' | 'restorePoint' | 'rolledBack'>>,
  ): void {
    this.#change(what);
  }

  /** One more line of the log. */
  add(event: ProgressEvent, fields: LineFields = {}): void {
    this.#lines.push(event);
    if (this.#lines.length > keptLines) this.#dropped += this.#lines.splice(0, keptLines / 10).length;
    if (this.hasEnded) {
      this.#change({});
      return;
    }
    const restorePoint = pointShape.read(fields.restorePoint);
    const rolledBack = rolledBackShape.read(fields.rolledBack);
    if (restorePoint || rolledBack)
      this.#change({ ...(restorePoint && { restorePoint }), ...(rolledBack && { rolledBack }) });
    const { phase, percent, message, time, level } = event;
    const result = runResultSchema.safeParse(fields.result).data ?? this.#earlier.resultOf(event);
    if (result !== null) {
      this.end(result, new Date(time));
      return;
    }
    if (level === 'warn') this.warn(message);
    if (phase === 'done') this.#change({ message });
    else this.#advance(phase, percent ?? null, event);
  }

  /** The first end stands. */
  end({ outcome: word, message, ...why }: KnownResult, at = new Date()): void {
    if (this.hasEnded) return;
    // `usage` is a mistake in how the updater was launched: it has looked at nothing. A fetch changes nothing.
    const outcome = word === 'usage' ? 'refused' : word === 'fetched' ? 'unchanged' : word;
    const endedAt = at.toISOString();
    const steps = endLast(this.#run.steps, endedAt);
    const { code = null, detail: cause = null, advice = null, facts } = why;
    const requiredRelease = runShape.fields.requiredRelease.read(facts?.requiredRelease) ?? null;
    if (!isGoodEnd(outcome)) this.#change({ code, cause, advice, requiredRelease });
    this.#change({ state: outcome, outcome, message, percent: null, jobs: [], until: null, steps, endedAt });
  }

  /** Forward only: an updater that was started again begins with what it had behind it. */
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
    // Before anything happened, a run is in no other state than its first one.
    const isFirst = this.#changes === 0 && steps.length === 1;
    const now =
      (state === before || isFirst) && last
        ? [...steps.slice(0, -1), { ...last, state, message }]
        : [...endLast(steps, at), { state, startedAt: at, endedAt: null, message }];
    this.#change({ ...what, state, steps: now });
  }

  /** Something that does not hinder the run. */
  warn(message: string): void {
    const { warnings } = this.#run;
    if (warnings.includes(message) || warnings.length >= keptWarnings) return;
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
