import { byItself } from '../../wire/codes.ts';
import type { CancelReason, Reason, Run } from '../../wire/status.ts';
import type { AutomaticChoice, AutomaticSettings } from '../contract/automatic.ts';
import { keepLooking } from '../host/keep-looking.ts';
import type { ServerContext } from '../run/server-context.ts';
import { type AutomaticFacts, type Decision, decide, isOverdue } from './decide.ts';

/** The functions that this class needs. */
interface Doors {
  /** The available release and all runs, newest first. @throws HostFailure */
  facts(): Promise<Pick<AutomaticFacts, 'next' | 'past'>>;
  /** The current run, as far as this server knows. */
  open(): Run | null;
  /** Whether an upgrade path is in progress. It continues automatically. */
  isOnPath(): Promise<boolean>;
  /** Starts an update when no job is running. Refused if `isStill` returns false after all other checks. */
  start(version: string, isStill: () => Promise<boolean>): Promise<{ run: Run } | { reason: Reason }>;
  cancel(): Promise<{ run: Run } | { reason: CancelReason }>;
}

/**
 * Starts automatic updates in their time window. The runs in the store show which windows have been used, so several servers
 * start only one run.
 */
export class AutomaticUpdates {
  readonly #context: ServerContext;
  readonly #doors: Doors;
  /** The last settings in the store. */
  #settings: AutomaticSettings;
  #failure = '';

  constructor(context: ServerContext, doors: Doors) {
    this.#context = context;
    this.#doors = doors;
    this.#settings = context.settings.automatic;
  }

  async settings(): Promise<AutomaticSettings> {
    const { ledger, settings } = this.#context;
    // If the store does not respond, the status reports it elsewhere.
    this.#settings = await ledger.automatic(settings.automatic).catch(() => this.#settings);
    return this.#settings;
  }

  /** @throws HostFailure if the store fails */
  async set(said: AutomaticChoice): Promise<void> {
    const { ledger, settings } = this.#context;
    this.#settings = await ledger.setAutomatic(settings.automatic, said);
  }

  /** Checks regularly until the server closes. */
  async start(): Promise<void> {
    const { settings, timing } = this.#context;
    const failed = (cause: Error) => {
      // Log each problem once, because no person is waiting for this update.
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

/** Blocked releases also have a next time, which is that of the release after them. */
const isDue = ({ nextAt, blockedBy }: Decision): boolean =>
  nextAt !== null && nextAt <= Date.now() && blockedBy === null;
