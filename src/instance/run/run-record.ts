import { parseEnd } from '../../progress/end-line.ts';
import { type Phase, type ProgressEvent, phases } from '../../progress/event.ts';
import { outcomeOf } from '../../progress/outcome.ts';
import type { EndState } from '../../wire/codes.ts';
import type { Run } from '../../wire/status.ts';
import type { RunOrigin } from '../contract/run-origin.ts';

/** Lines that are kept for those who come back; a run has some dozens. */
const keptLines = 1_000;

/**
 * One run as it unfolds: its state, and the lines of its log, numbered from 1 in the order in which the updater wrote
 * them, so that every server counts them alike.
 */
export class RunRecord {
  #run: Run;
  #lines: ProgressEvent[] = [];
  #dropped = 0;
  #changes = 0;
  #step: string | null = null;
  readonly #waiting = new Set<() => void>();

  constructor({ id, from, to, startedAt }: RunOrigin, message = 'launching the updater') {
    this.#run = {
      id,
      state: 'launching',
      phase: null,
      percent: null,
      from,
      to,
      startedAt,
      endedAt: null,
      outcome: null,
      message,
      code: null,
      advice: null,
    };
  }

  /** Never changed in place. */
  get run(): Run {
    return this.#run;
  }

  get hasEnded(): boolean {
    return this.#run.outcome !== null;
  }

  /** What it went to, and what has to come first, where it was refused with `upgrade-step`. */
  get refusedStep(): { version: string; first: string } | null {
    const { to } = this.#run;
    return to === null || this.#step === null ? null : { version: to, first: this.#step };
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
    await new Promise<void>((resolve) => {
      const settle = () => {
        this.#waiting.delete(settle);
        signal.removeEventListener('abort', settle);
        resolve();
      };
      this.#waiting.add(settle);
      signal.addEventListener('abort', settle);
    });
  }

  /** What happens before the updater runs. Percent is of the pull. */
  launching(message: string, percent: number | null = null): void {
    if (this.#run.state === 'launching') this.#change({ message, percent });
  }

  /** One more line of the log. */
  add(event: ProgressEvent): void {
    this.#lines.push(event);
    if (this.#lines.length > keptLines) this.#dropped += this.#lines.splice(0, keptLines / 10).length;
    const { phase, percent, message, time } = event;
    const outcome = outcomeOf(event);
    if (this.hasEnded) {
      this.#change({});
    } else if (outcome !== null) {
      const isGood = outcome === 'updated' || outcome === 'unchanged';
      const told = isGood ? null : parseEnd(message);
      const { state = message, code = null, advice = null } = told ?? {};
      this.#step = told?.step ?? null;
      // `usage` is a mistake in how the updater was launched: it has looked at nothing.
      this.end(outcome === 'usage' ? 'refused' : outcome, state, new Date(time), { code, advice });
    } else if (phase === 'done') {
      this.#change({ message });
    } else {
      this.#advance(phase, percent ?? null, message);
    }
  }

  /** The first end stands. */
  end(
    outcome: EndState,
    message: string,
    at = new Date(),
    why: Pick<Run, 'code' | 'advice'> = { code: null, advice: null },
  ): void {
    if (this.hasEnded) return;
    this.#change({ state: outcome, outcome, percent: null, message, endedAt: at.toISOString(), ...why });
  }

  /** Forward only: an updater that was started again begins with what it had behind it. */
  #advance(phase: Exclude<Phase, 'done'>, percent: number | null, message: string): void {
    const reached = this.#run.phase;
    if (reached !== null && phases.indexOf(phase) < phases.indexOf(reached)) {
      this.#change({ message });
    } else if (phase === reached) {
      const known = [this.#run.percent, percent].filter((value) => value !== null);
      this.#change({ percent: known.length > 0 ? Math.max(...known) : null, message });
    } else {
      this.#change({ state: phase, phase, percent, message });
    }
  }

  #change(what: Partial<Run>): void {
    this.#run = { ...this.#run, ...what };
    this.#changes++;
    for (const settle of [...this.#waiting]) settle();
  }
}
