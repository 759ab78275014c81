import { type AutomaticChoice, type Order, Reader, type RollbackOrder } from '../../wire/reader.ts';
import type { Answer } from '../../wire/reader-answer.ts';
import { followRun } from '../../wire/reader-follow.ts';
import type { Problem, UserStatus } from '../../wire/reader-shapes.ts';
import type { Status, ToldRun } from '../../wire/status.ts';
import { type Action, initialState, type PageState, type Rollback, reduce } from '../model/page-state.ts';
import { closePause, schedule } from '../model/schedule.ts';
import { betweenOf, openRun } from '../model/selectors.ts';
import { DismissedRuns } from '../model/storage.ts';
import { LogLines } from './log-lines.ts';

/** Milliseconds for which a new server may still look for the run that it was started by. */
const unknownAfter = 5_000;

const rollbackRefused =
  (to: string) =>
  (problem: Problem | null): Action => ({ kind: 'rollback', rollback: { kind: 'refused', to, problem } });

/** The state of all elements of a page that ask the same address, and when what is asked for it. */
export class Store {
  readonly lines: LogLines;
  readonly dismissed = new DismissedRuns(() => localStorage);
  readonly #reader: Reader;
  readonly #listeners = new Set<() => void>();
  #state: PageState = initialState;
  #openDialogs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;
  #isDue = false;
  #askedAt: number | null = null;
  /** The run whose event stream is read, and what ends that. */
  #following: { id: string; end: AbortController } | null = null;
  /** Since when svc answers without the run that was seen open. */
  #missingSince: number | null = null;
  #isChecking = false;

  constructor(address: string) {
    this.#reader = new Reader({ address });
    this.lines = new LogLines(this.#reader);
    addEventListener('online', () => this.askNow());
    // A page that comes out of the browser's memory shows what was true when it went there.
    addEventListener('pageshow', ({ persisted }) => persisted && this.askNow());
    document.addEventListener('visibilitychange', () => this.askNow());
    // An end that is closed in one tab is closed in all of them.
    addEventListener('storage', () => this.#changed());
  }

  get state(): PageState {
    return this.#state;
  }

  get isDialogOpen(): boolean {
    return this.#openDialogs > 0;
  }

  /** The server reads the releases again, as the person has asked for. */
  get isChecking(): boolean {
    return this.#isChecking;
  }

  /** Calls a listener after each change, until what it gives is called. The server is asked as long as there is one. */
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
    } else this.#dispatch({ kind: 'closed' });
    this.#changed();
  }

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
   * Asks for a start. Until that is answered the dialog has no button for another one (docs/contract.md 10.3).
   * @param end the id of the run from whose end the person tries again; that is closed once svc has answered
   */
  async start(order: Order, end: string | null = null): Promise<void> {
    this.#dispatch({ kind: 'pressed', to: order.target });
    const answer = await this.#reader.start(order);
    const refusal =
      answer.kind === 'problem' && answer.problem.status === 409 ? answer.problem.reason : undefined;
    if (end !== null && (answer.kind === 'ok' || refusal)) this.dismissed.add(end);
    if (refusal) {
      this.#dispatch({ kind: 'in-the-way', reason: refusal });
      // The status tells whose run it is.
      if (refusal.code === 'update-running') this.askNow();
    } else await this.#begun(answer, (problem) => ({ kind: 'not-started', problem }));
  }

  /** Asks for the effects of a rollback, until the person has read something else. */
  async askRollback(to: string): Promise<void> {
    const asking: Rollback = { kind: 'asking', to, since: performance.now() };
    this.#dispatch({ kind: 'rollback', rollback: asking });
    const answer = await this.#reader.rollbackOffer();
    const { rollback } = this.#state;
    if (rollback?.kind !== 'asking' || rollback.since !== asking.since) return;
    if (answer.kind === 'ok')
      this.#dispatch({ kind: 'rollback', rollback: { kind: 'offer', offer: answer.value } });
    else if (answer.kind === 'logged-out') this.#dispatch({ kind: 'refused', refused: answer });
    else this.#dispatch(rollbackRefused(to)(answer.kind === 'problem' ? answer.problem : null));
  }

  /** Asks for a rollback; as with a start, no button asks for another one until that is answered. */
  async rollback(order: RollbackOrder): Promise<void> {
    const { confirm: to } = order;
    this.#dispatch({ kind: 'pressed', to, isRollback: true });
    await this.#begun(await this.#reader.rollback(order), rollbackRefused(to));
  }

  /** What came of asking for a run; `refused` says that none did, of a problem or of an answer that was lost. */
  async #begun(answer: Answer<ToldRun>, refused: (problem: Problem | null) => Action): Promise<void> {
    if (answer.kind === 'ok') {
      this.#dispatch({ kind: 'run', run: answer.value });
      this.#dispatch({ kind: 'acknowledged' });
    } else if (answer.kind === 'logged-out') {
      this.#dispatch({ kind: 'acknowledged' });
      this.#dispatch({ kind: 'refused', refused: answer });
    } else if (answer.kind === 'problem') this.#dispatch(refused(answer.problem));
    else if (await this.#hasNotStarted()) this.#dispatch(refused(null));
    else this.#dispatch({ kind: 'acknowledged' });
  }

  async cancel(): Promise<void> {
    const answer = await this.#reader.cancel();
    if (answer.kind === 'ok') {
      this.#dispatch({ kind: 'run', run: answer.value });
      // Between two updates a path is ended, of which the status tells.
      if (answer.value.outcome !== null) await this.#readStatus(false);
    } else if (answer.kind === 'problem') this.#dispatch({ kind: 'cancel-refused', problem: answer.problem });
    else if (answer.kind === 'logged-out') this.#dispatch({ kind: 'refused', refused: answer });
    // The answer got lost. As the stream may go on beside it, the next status tells whether svc is away.
    else this.askNow();
  }

  async setChannel(channel: string): Promise<Answer<Status | UserStatus>> {
    return this.#told(await this.#reader.setChannel(channel));
  }

  async setAutomatic(choice: AutomaticChoice): Promise<Answer<Status | UserStatus>> {
    return this.#told(await this.#reader.setAutomatic(choice));
  }

  #told(answer: Answer<Status | UserStatus>): Answer<Status | UserStatus> {
    if (answer.kind === 'ok') this.#dispatch({ kind: 'status', status: answer.value });
    return answer;
  }

  async skip(version: string | null): Promise<void> {
    const answer = this.#told(await this.#reader.skip(version));
    if (answer.kind === 'ok') return;
    if (answer.kind === 'logged-out') this.#dispatch({ kind: 'refused', refused: answer });
    // Whatever came of it, the next status tells.
    else this.askNow();
  }

  dismiss(id: string): void {
    this.dismissed.add(id);
    this.#changed();
  }

  /** After the answer of a start got lost, the status tells whether there was one. */
  async #hasNotStarted(): Promise<boolean> {
    const before = this.#state.watched?.id;
    const answer = await this.#readStatus(false);
    const { watched } = this.#state;
    return answer.kind === 'ok' && (watched === null || watched.id === before);
  }

  #dispatch(action: Action): void {
    this.#state = reduce(this.#state, action, performance.now());
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
    this.#schedule();
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const run = openRun(this.#state);
    const { askAt, follow } = schedule({
      isLookedAt: this.#listeners.size > 0 && document.visibilityState !== 'hidden',
      isDialogOpen: this.isDialogOpen,
      hasAnswer: this.#state.answeredAt !== null || this.#state.loggedOut,
      openRun: run?.id ?? (this.#state.isUpdating || betweenOf(this.#state) ? '' : null),
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
    // Notes are long, and only a dialog shows them: they are asked for once for each release that is offered or may be found.
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

  /** Where the run that was seen open is no longer the last one, the history has its end, or svc does not know it. */
  async #findWatched(): Promise<void> {
    const { watched, status } = this.#state;
    const isMissing = watched !== null && watched.outcome === null && status?.run?.id !== watched.id;
    // The stream tells of a run that is followed.
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
    const { signal } = end;
    for await (const news of followRun(this.#reader, { run: id, signal, timing: { poll: closePause } })) {
      if (signal.aborted) return;
      if (news.kind === 'run' || news.kind === 'heard') this.#dispatch(news);
      else if (news.kind === 'line') this.lines.add(id, news.line);
      else if (news.kind === 'unheard') this.#dispatch({ kind: 'refused', refused: news.refused });
      else this.#dispatch({ kind: 'run-unknown' });
    }
    if (signal.aborted) return;
    this.#following = null;
    // The server that knows the end tells what runs now, and how long svc was away.
    this.askNow();
    if (openRun(this.#state) === null) void this.#readHistory();
  }
}
