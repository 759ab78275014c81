import { byItself } from '../../wire/codes.ts';
import type { CancelReason, Reason, Run } from '../../wire/status.ts';
import type { AutomaticChoice, AutomaticSettings } from '../contract/automatic.ts';
import { keepLooking } from '../host/keep-looking.ts';
import type { ServerContext } from '../run/server-context.ts';
import { type AutomaticFacts, type Decision, decide, isOverdue } from './decide.ts';

/** What the rest of the server does for it. */
interface Doors {
  /** What is offered, and all runs, the newest first. @throws HostFailure */
  facts(): Promise<Pick<AutomaticFacts, 'next' | 'past'>>;
  /** The run that is on, as far as this server knows. */
  open(): Run | null;
  /** A path goes on by itself. */
  isOnPath(): Promise<boolean>;
  /** Once it is idle; refused where `isStill` says no once all else is known. */
  start(version: string, isStill: () => Promise<boolean>): Promise<{ run: Run } | { reason: Reason }>;
  cancel(): Promise<{ run: Run } | { reason: CancelReason }>;
}

/**
 * Starts what is offered in its window. Which window has been used is told by the runs in the store, so that any number of
 * servers start one run.
 */
export class AutomaticUpdates {
  readonly #context: ServerContext;
  readonly #doors: Doors;
  /** What the store had last. */
  #settings: AutomaticSettings;
  #failure = '';

  constructor(context: ServerContext, doors: Doors) {
    this.#context = context;
    this.#doors = doors;
    this.#settings = context.settings.automatic;
  }

  async settings(): Promise<AutomaticSettings> {
    const { ledger, settings } = this.#context;
    // Where the store does not answer, the status says so in another place.
    this.#settings = await ledger.automatic(settings.automatic).catch(() => this.#settings);
    return this.#settings;
  }

  /** @throws HostFailure where the store does not take it */
  async set(said: AutomaticChoice): Promise<void> {
    const { ledger, settings } = this.#context;
    this.#settings = await ledger.setAutomatic(settings.automatic, said);
  }

  /** Looks from here on, until the server closes. */
  async start(): Promise<void> {
    const { settings, timing } = this.#context;
    const failed = (cause: Error) => {
      // Nobody has asked for it.
      const isNews = this.#failure !== cause.message;
      this.#failure = cause.message;
      if (isNews) settings.log({ level: 'info', message: 'the automatic update was not started', cause });
    };
    await keepLooking(() => this.#look(), failed, { ...this.#context, pause: timing.automatic });
  }

  async #look(): Promise<void> {
    const settings = await this.settings();
    const open = this.#doors.open();
    if (open !== null) {
      const isWaiting = open.by === byItself && open.state === 'waiting' && open.cancelRequestedBy === null;
      if (isWaiting && isOverdue(open, settings, Date.now())) await this.#doors.cancel();
      return;
    }
    if (!settings.enabled) return;
    const facts = await this.#doors.facts();
    if (!isDue(decide({ ...facts, settings, now: Date.now() })) || (await this.#doors.isOnPath())) return;
    const { next } = facts;
    if (next === null) return;
    const answer = await this.#doors.start(next.version, async () => {
      const again = await this.#doors.facts();
      const now = decide({ ...again, settings: await this.settings(), now: Date.now() });
      return again.next?.version === next.version && isDue(now);
    });
    if ('reason' in answer) throw new Error(answer.reason.message);
    this.#failure = '';
  }
}

/** What is kept back has a next time, too: of the release after it. */
const isDue = ({ nextAt, blockedBy }: Decision): boolean =>
  nextAt !== null && nextAt <= Date.now() && blockedBy === null;
