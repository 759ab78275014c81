import { findExpectedUpgradeStep } from '../../wire/derived/upgrade-path-position.ts';
import type { PendingStep, Run } from '../../wire/status.ts';
import { callApplication } from '../application/call-application.ts';
import type { RepeatedCheck } from '../application/repeat-check.ts';
import type { RunStarter } from '../run/request/run-starter.ts';
import type { ServerContextWithRuns } from '../run/request/server-context-with-runs.ts';

/**
 * Maximum time in ms between two steps of an upgrade path. A step may wait, for example, until the application is
 * ready.
 */
const pendingStepTimeoutMs = 3_600_000;

/**
 * Continues the last run's upgrade path (docs/contract.md 8.38). The remaining steps are stored with that run, so the
 * server of each new release finds them.
 */
export class UpgradePathRunner implements RepeatedCheck {
  readonly pauseMs: number;
  readonly wakenBy = 'end';
  readonly #parts: ServerContextWithRuns;
  readonly #starter: RunStarter;
  /** Why the next step has not been started. `after` is the id of the run before that step. */
  #said: { after: string; reason: string } | null = null;

  constructor(parts: ServerContextWithRuns, starter: RunStarter) {
    this.#parts = parts;
    this.#starter = starter;
    this.pauseMs = parts.timing.path;
  }

  /** Returns the pending step and why it has not been started; null if no step is pending. */
  after(last: Run | undefined): PendingStep | null {
    const step = findPendingUpgradeStep(last);
    return step && { ...step, reason: this.#said?.after === last?.id ? (this.#said?.reason ?? null) : null };
  }

  /** Stops the run's upgrade path and returns the changed run. @throws ApplicationError if the store fails */
  async stopPath(run: Run): Promise<Run> {
    const past = await this.#parts.ledger.changePastRun(run.id, (now) => ({
      ...now,
      run: { ...now.run, upgradePath: [] },
    }));
    return past?.run ?? { ...run, upgradePath: [] };
  }

  async onFailure(cause: Error): Promise<void> {
    const message = 'the next step of the upgrade path was not started';
    this.#parts.settings.log({ level: 'warn', message, cause });
  }

  async check(): Promise<void> {
    const { history, settings } = this.#parts;
    const [last] = await history.all();
    const pending = findPendingUpgradeStep(last);
    if (last === undefined || pending === null) return;
    const { to } = pending;
    if (Date.now() > Date.parse(pending.until)) {
      const goal = last.upgradePath.at(-1);
      const why = this.#said?.reason ?? 'the next update was not started before the deadline';
      await this.stopPath(last);
      return settings.log({
        level: 'warn',
        message: `stopped the step-by-step upgrade to ${goal} before installing ${to}: ${why}`,
      });
    }
    // Only a server of the release that the last step installed may continue the path.
    if (last.to !== settings.version) return;
    const reason = (await this.#ask(settings.version)) ?? (await this.#start(last, to));
    this.#said = reason === null ? null : { after: last.id, reason };
  }

  /** Starts the next step. Returns why the step was not started; null if it was started. */
  async #start({ id, upgradePath: path, by }: Run, to: string): Promise<string | null> {
    const { history, settings } = this.#parts;
    const order = { to, path, by: by ?? settings.product.name };
    const response = await this.#starter.updateAutomatically(order, async () => {
      const [last] = await history.all();
      return last?.id === id && findPendingUpgradeStep(last)?.to === to;
    });
    return 'run' in response ? null : response.reason.message;
  }

  /** Calls `afterStep`. Returns why the application is not ready for the next step; null if it is ready. */
  async #ask(version: string): Promise<string | null> {
    const { settings, timing } = this.#parts;
    const { afterStep } = settings;
    if (afterStep === null) return null;
    try {
      const response: unknown = await callApplication('afterStep', () => afterStep({ version }), timing.host);
      return typeof response === 'string' && response !== '' ? response : null;
    } catch (cause) {
      // Only the operator may see an exception's text, so it is logged and not returned. Log it only once, because
      // `afterStep` is called repeatedly.
      if (this.#said?.reason !== checkFailed)
        settings.log({ level: 'warn', message: 'afterStep failed', cause });
      return checkFailed;
    }
  }
}

const checkFailed = 'the check before the next step failed; the log of the server has the details';

/**
 * Returns the step after the last run. Returns null if that run is in progress, did not succeed, or has no next step.
 */
export function findPendingUpgradeStep(last: Run | undefined): PendingStep | null {
  const step = last?.endedAt ? findExpectedUpgradeStep(last) : null;
  return step && { ...step, until: new Date(Date.parse(step.since) + pendingStepTimeoutMs).toISOString() };
}
