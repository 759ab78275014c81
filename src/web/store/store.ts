import { type Order, Reader } from '../../wire/reader.ts';
import type { Answer } from '../../wire/reader-answer.ts';
import { followRun } from '../../wire/reader-follow.ts';
import type { UserStatus } from '../../wire/reader-shapes.ts';
import type { Status } from '../../wire/status.ts';
import { type Action, initialState, type PageState, reduce } from '../model/page-state.ts';
import { closePause, schedule } from '../model/schedule.ts';
import { openRun } from '../model/selectors.ts';
import { DismissedRuns } from '../model/storage.ts';
import { LogLines } from './log-lines.ts';

/** Milliseconds after which a run that svc does not tell of is not known to it: a new server may still look for it. */
const unknownAfter = 5_000;

/** What every element of a page shares that asks the same address. */
export class Store {
  readonly dismissed = new DismissedRuns(() => localStorage);
  readonly #reader: Reader;
  readonly #listeners = new Set<() => void>();
  #state: PageState = initialState;
  #openDialogs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;
  #isDue = false;
  #askedAt: number | null = null;
  /** Is being followed: its id, and what ends that. */
  #following: { id: string; end: AbortController } | null = null;
  #missingSince: number | null = null;
  readonly lines: LogLines;
  #isChecking = false;

  constructor(address: string) {
    this.#reader = new Reader({ address });
    this.lines = new LogLines(this.#reader);
    addEventListener('online', () => this.askNow());
    // Out of the browser's memory of pages: whatever it shows is as old as that.
    addEventListener('pageshow', ({ persisted }) => persisted && this.askNow());
    document.addEventListener('visibilitychange', () => this.askNow());
    // What is closed in one tab is closed in all of them.
    addEventListener('storage', () => this.#changed());
  }

  get state(): PageState {
    return this.#state;
  }

  get isDialogOpen(): boolean {
    return this.#openDialogs > 0;
  }

  /** The releases are read again because somebody has asked for it. */
  get isChecking(): boolean {
    return this.#isChecking;
  }

  /** Asks as long as somebody listens. Gives what ends that. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#schedule();
    return () => {
      this.#listeners.delete(listener);
      this.#schedule();
    };
  }

  /** To be called with `true` when a dialog opens and with `false` when it closes. */
  showDialog(isOpen: boolean): void {
    this.#openDialogs += isOpen ? 1 : -1;
    if (isOpen) {
      this.askNow();
      void this.#readHistory();
    } else this.#dispatch({ kind: 'acknowledged' });
    this.#changed();
  }

  /** The next look is now: whatever was known may be long past. */
  askNow(): void {
    this.#isDue = true;
    this.#schedule();
  }

  async check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    this.#dispatch({ kind: 'acknowledged' });
    await this.#readStatus(true);
    this.#isChecking = false;
    this.#changed();
  }

  /**
   * Asks once, however often it is called, until that is answered.
   * @param end the id of the run whose end it is asked from: closed once svc has answered, as it may not be there
   */
  async start(order: Order, end: string | null = null): Promise<void> {
    if (this.#state.start?.kind === 'pressed') return;
    this.#dispatch({ kind: 'pressed', to: order.target });
    const answer = await this.#reader.start(order);
    const refusal =
      answer.kind === 'problem' && answer.problem.status === 409 ? answer.problem.reason : undefined;
    if (end !== null && (answer.kind === 'ok' || refusal)) this.dismissed.add(end);
    if (answer.kind === 'ok') {
      this.#dispatch({ kind: 'run', run: answer.value });
      this.#dispatch({ kind: 'acknowledged' });
    } else if (answer.kind === 'logged-out') {
      this.#dispatch({ kind: 'acknowledged' });
      this.#dispatch({ kind: 'refused', refused: answer });
    } else if (refusal) {
      this.#dispatch({ kind: 'in-the-way', reason: refusal });
      // Whose run it is, the status tells.
      if (refusal.code === 'update-running') this.askNow();
    } else if (answer.kind === 'problem') this.#dispatch({ kind: 'not-started', problem: answer.problem });
    else await this.#readLostStart();
  }

  async cancel(): Promise<void> {
    const answer = await this.#reader.cancel();
    if (answer.kind === 'ok') this.#dispatch({ kind: 'run', run: answer.value });
    else if (answer.kind === 'problem') this.#dispatch({ kind: 'cancel-refused', problem: answer.problem });
    else if (answer.kind === 'logged-out') this.#dispatch({ kind: 'refused', refused: answer });
    // Its answer got lost. A stream may go on beside it, so whether svc is away the next look tells.
    else this.askNow();
  }

  async setChannel(channel: string): Promise<Answer<Status | UserStatus>> {
    const answer = await this.#reader.setChannel(channel);
    if (answer.kind === 'ok') this.#dispatch({ kind: 'status', status: answer.value });
    return answer;
  }

  dismiss(id: string): void {
    this.dismissed.add(id);
    this.#changed();
  }

  /** The answer of a start was lost: whether it did start is asked for, never started twice. */
  async #readLostStart(): Promise<void> {
    const before = this.#state.watched?.id;
    const answer = await this.#readStatus(false);
    const { watched } = this.#state;
    const hasStarted = watched !== null && watched.id !== before;
    if (hasStarted || answer.kind !== 'ok') this.#dispatch({ kind: 'acknowledged' });
    else this.#dispatch({ kind: 'not-started', problem: null });
  }

  #dispatch(action: Action): void {
    this.#state = reduce(this.#state, action, performance.now());
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
    this.#schedule();
  }

  /** Does what the schedule says, now or later. */
  #schedule(): void {
    clearTimeout(this.#timer);
    const run = openRun(this.#state);
    const { askAt, follow } = schedule({
      isLookedAt: this.#listeners.size > 0 && document.visibilityState !== 'hidden',
      isDialogOpen: this.isDialogOpen,
      hasAnswer: this.#state.answeredAt !== null || this.#state.loggedOut,
      openRun: run?.id ?? (this.#state.isUpdating ? '' : null),
      isAsking: this.#isAsking,
      askedAt: this.#askedAt,
      isDue: this.#isDue,
    });
    if (this.#following?.id !== follow) {
      this.#following?.end.abort();
      this.#following = null;
      if (follow !== null) void this.#follow(follow);
    }
    if (askAt === null) return;
    const pause = askAt - performance.now();
    if (pause <= 0) void this.#readStatus(false);
    else this.#timer = setTimeout(() => this.#schedule(), pause);
  }

  async #readStatus(refresh: boolean): Promise<Answer<Status | UserStatus>> {
    this.#isAsking = true;
    this.#isDue = false;
    this.#askedAt = performance.now();
    const { status } = this.#state;
    // Notes are long: they are asked for once for each release that is offered, or may be found, and shown by a dialog alone.
    const hasNotes = status !== null && (status.next === null || (status.releases ?? []).length > 0);
    const notes = this.isDialogOpen && (refresh || !hasNotes);
    const answer = await this.#reader.status({ refresh, notes });
    this.#isAsking = false;
    if (answer.kind === 'ok') {
      this.#dispatch({ kind: 'status', status: answer.value });
      await this.#findWatched();
    } else this.#dispatch({ kind: 'refused', refused: answer });
    return answer;
  }

  /** The run that was seen open may no longer be the last one: then the history has its end, or svc does not know it. */
  async #findWatched(): Promise<void> {
    const { watched, status } = this.#state;
    const isMissing = watched !== null && watched.outcome === null && status?.run?.id !== watched.id;
    // Who follows it learns of it by the stream.
    if (!isMissing || status === null || this.#following !== null) {
      this.#missingSince = null;
      return;
    }
    await this.#readHistory();
    if (this.#state.watched?.outcome !== null) return;
    this.#missingSince ??= performance.now();
    if (performance.now() - this.#missingSince >= unknownAfter - closePause / 2)
      this.#dispatch({ kind: 'run-unknown' });
  }

  async #readHistory(): Promise<void> {
    const answer = await this.#reader.history();
    if (answer.kind === 'ok') this.#dispatch({ kind: 'history', runs: answer.value });
  }

  async #follow(id: string): Promise<void> {
    const end = new AbortController();
    this.#following = { id, end };
    for await (const news of followRun(this.#reader, {
      run: id,
      signal: end.signal,
      timing: { poll: closePause },
    })) {
      if (end.signal.aborted) return;
      if (news.kind === 'run') this.#dispatch(news);
      else if (news.kind === 'line') this.lines.add(id, news.line);
      else if (news.kind === 'heard') this.#dispatch(news);
      else if (news.kind === 'unheard') this.#dispatch({ kind: 'refused', refused: news.refused });
      else this.#dispatch({ kind: 'run-unknown' });
    }
    if (end.signal.aborted) return;
    this.#following = null;
    // What runs now, and how often svc was away, the server that knows the end tells.
    this.askNow();
    if (openRun(this.#state) === null) void this.#readHistory();
  }
}
