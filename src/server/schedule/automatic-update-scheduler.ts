import { automaticCaller } from '../../wire/codes.ts';
import type { RepeatedCheck } from '../application/repeat-check.ts';
import {
  type AutomaticUpdateSettings,
  type AutomaticUpdateSettingsChange,
  omitUndefinedSettings,
} from '../contract/automatic-update-settings.ts';
import type { Rehearser } from '../rehearsal/rehearser.ts';
import type { RunStarter } from '../run/request/run-starter.ts';
import type { ServerContextWithRuns } from '../run/request/server-context-with-runs.ts';
import { chooseAutomaticStep, decideAutomaticUpdate, isTimeWindowOver } from './decide-automatic-update.ts';
import { findPendingUpgradeStep } from './upgrade-path-runner.ts';

/**
 * Starts automatic updates in their time windows. Stored runs show which windows were used, so all servers together
 * start at most one run per window.
 */
export class AutomaticUpdateScheduler implements RepeatedCheck {
  readonly pauseMs: number;
  readonly #parts: ServerContextWithRuns;
  readonly #starter: RunStarter;
  readonly #rehearser: Rehearser;
  /** Last settings read from the store or written to it; used if the store fails. */
  #settings: AutomaticUpdateSettings;
  #failure = '';

  constructor(parts: ServerContextWithRuns, starter: RunStarter, rehearser: Rehearser) {
    this.#parts = parts;
    this.#starter = starter;
    this.#rehearser = rehearser;
    this.#settings = parts.settings.automatic;
    this.pauseMs = parts.timing.automatic;
  }

  async readSettings(): Promise<AutomaticUpdateSettings> {
    const { ledger, settings } = this.#parts;
    // If the store fails, use the last known settings. Another field of the status reports the failure.
    const stored = await ledger.read('automatic').catch(() => this.#settings);
    this.#settings = stored ?? settings.automatic;
    return this.#settings;
  }

  /** @throws ApplicationError if the store fails */
  async changeSettings(choice: AutomaticUpdateSettingsChange): Promise<void> {
    const { ledger, settings } = this.#parts;
    const changed = await ledger.edit('automatic', (now) => ({
      ...(now ?? settings.automatic),
      ...omitUndefinedSettings(choice),
    }));
    this.#settings = changed ?? settings.automatic;
  }

  async check(): Promise<void> {
    const { runs } = this.#parts;
    const settings = await this.readSettings();
    const open = runs.isUnderWay ? runs.record?.run : undefined;
    if (open) {
      const isWaiting =
        open.by === automaticCaller && open.state === 'waiting' && open.cancelRequestedBy === null;
      if (isWaiting && isTimeWindowOver(open, settings, Date.now())) await runs.cancel(automaticCaller);
      return;
    }
    if (!settings.enabled) return;
    if ((await this.#findDue(settings)) === null) return;
    // Another server may have started a rehearsal, or the last one may still be unknown after a restart.
    await this.#rehearser.check();
    const due = await this.#findDue(settings);
    if (due === null || due.step === 'wait') return;
    const { next } = due;
    if (due.step === 'rehearse') {
      const reason = await this.#rehearser.startAutomatically(next.version);
      if (reason !== null) throw new Error(reason.message);
      return;
    }
    const isStillDue = async () => {
      const again = await this.#findDue(await this.readSettings());
      return again?.next.version === next.version && again.step === 'update';
    };
    const response = await this.#starter.updateAutomatically(
      { to: next.version, by: automaticCaller },
      isStillDue,
    );
    if ('reason' in response) throw new Error(response.reason.message);
    this.#failure = '';
  }

  /** Logs a repeated problem only once, because no user is waiting for an automatic update. */
  async onFailure(cause: Error): Promise<void> {
    const isNews = this.#failure !== cause.message;
    this.#failure = cause.message;
    if (isNews)
      this.#parts.settings.log({ level: 'info', message: 'the automatic update was not started', cause });
  }

  /**
   * Returns the available release if its automatic update is due, and what to do now. Returns null if it is not due, or
   * if an upgrade path is in progress.
   * @throws ApplicationError if the store fails
   */
  async #findDue(settings: AutomaticUpdateSettings) {
    const past = await this.#parts.history.all();
    const { known, offer } = await this.#parts.offers.now(past[0] ?? null);
    const rehearsals = await this.#rehearser.findFacts();
    const { restorePoint: hasRestorePoint } = this.#parts.settings;
    const now = Date.now();
    const facts = { settings, offer, known, past, rehearsals, hasRestorePoint, now };
    const { nextAt, blockedBy } = decideAutomaticUpdate(facts);
    // Set `nextAt` even if the release is blocked: a newer release could be installed then.
    const isDue = nextAt !== null && Date.parse(nextAt) <= now && blockedBy === null;
    const { next } = offer;
    if (next === null || !isDue || findPendingUpgradeStep(past[0]) !== null) return null;
    return { next, step: chooseAutomaticStep(next.version, facts) };
  }
}
