import { sleepFor } from '../../../core/cancellation/wait-until.ts';
import type { ProgressEvent } from '../../../core/progress/event.ts';
import { automaticCaller } from '../../../wire/codes.ts';
import { ApplicationError } from '../../application/call-application.ts';
import { retryWithBackoff } from '../../application/retry-with-backoff.ts';
import { prepareAndLaunchRun, type RunPlan } from '../launch/prepare-run.ts';
import { isLaunchState, type RunRecord } from '../run-record.ts';
import type { ServerContext } from '../server-context.ts';
import { UpdaterNotStartedError } from '../updater-not-started-error.ts';
import { followRunLog } from './follow-run-log.ts';

/** Prepares and follows one run, or only follows a run that is already in progress, until the run ends. */
export class RunSession {
  readonly record: RunRecord;
  readonly #context: ServerContext;
  readonly #stop = new AbortController();
  /** Id of the updater container; null before the launch. */
  #containerId: string | null = null;

  constructor(record: RunRecord, context: ServerContext) {
    this.record = record;
    this.#context = context;
  }

  /** Prepares, launches and follows an admitted run. Returns the result of `follow`; null if nothing was launched. */
  async prepare(plan: RunPlan): Promise<string | null> {
    const { closing, settings } = this.#context;
    const serverStops = () => this.#stopWith('the server was stopped before the updater was started');
    const launched = new AbortController();
    closing.addEventListener('abort', serverStops, { signal: launched.signal });
    if (closing.aborted) serverStops();
    void this.#syncUntil(launched.signal);
    let containerId: string;
    try {
      const launching = { ...this.#context, signal: this.#stop.signal, sync: () => this.#sync() };
      containerId = await prepareAndLaunchRun(this.record, plan, launching);
    } catch (error) {
      // Nothing has been started yet, so a cancellation takes precedence over any other error.
      const stop: unknown = this.#stop.signal.aborted ? this.#stop.signal.reason : error;
      const { result, message, cause } =
        stop instanceof UpdaterNotStartedError ? stop : createUpdaterStartError(error);
      if (result.outcome === 'failed') settings.log({ level: 'error', message, cause: cause ?? error });
      this.record.end(result);
      return null;
    } finally {
      launched.abort();
    }
    const { from, to } = this.record.run;
    const message = `started the updater: ${from ?? 'an unknown version'} → ${to ?? 'the newest release'}`;
    settings.log({ level: 'info', message });
    void this.#publishContainer(containerId);
    return this.follow(containerId);
  }

  /**
   * Follows the log until the run ends or the server closes. Returns the updater container's last start time as
   * reported by the engine; null if the time is unknown.
   */
  async follow(containerId: string): Promise<string | null> {
    const { timing, settings, listeners, closing } = this.#context;
    this.#containerId = containerId;
    this.record.setFields({ log: `docker logs ${settings.containerName}` });
    const onLine = (line: ProgressEvent) => listeners.emit('line', { run: this.record.run, line });
    for (;;) {
      try {
        return await followRunLog(containerId, this.record, this.#context, onLine);
      } catch (cause) {
        // A run does not depend on the server that follows it, so an error in this server does not end the run.
        const message = 'failed to follow an update; retrying';
        settings.log({ level: 'error', message, cause });
        await sleepFor(timing.retry, closing, false);
      }
    }
  }

  /** Stops the preparation of the run. If the updater has been launched, sends it SIGTERM. @throws EngineError */
  async cancel(by: string): Promise<void> {
    if (this.#containerId !== null) await this.#context.engine.killContainer(this.#containerId, 'SIGTERM');
    else if (isLaunchState(this.record.run.state)) this.#cancelPreparation(by);
  }

  #cancelPreparation(by: string): void {
    this.record.setFields({ cancelRequestedBy: by });
    const why = 'running jobs did not finish before the end of the time window';
    this.#stopWith(by === automaticCaller ? why : null);
  }

  #stopWith(why: string | null): void {
    const message = why === null ? 'nothing was changed' : `${why}; nothing was changed`;
    this.#stop.abort(new UpdaterNotStartedError('cancelled', message));
  }

  async #syncUntil(launched: AbortSignal): Promise<void> {
    while (!launched.aborted) {
      await sleepFor(this.#context.timing.watchClosely, launched, false);
      if (!launched.aborted) await this.#sync().catch(() => {});
    }
  }

  async #sync(): Promise<void> {
    const { run } = this.record;
    try {
      const open = await this.#context.ledger.changeOpenRun(run.id, (now) => ({
        ...now,
        run: { ...run, cancelRequestedBy: now.run.cancelRequestedBy ?? run.cancelRequestedBy },
      }));
      if (open === null) this.#stopWith('another server process of this instance has already ended the run');
      else if (open.run.cancelRequestedBy !== null) this.#cancelPreparation(open.run.cancelRequestedBy);
    } catch (error) {
      // A store failure is ignored, because it never affects a run that has been accepted.
      if (!(error instanceof ApplicationError)) throw error;
    }
  }

  /**
   * Stores the container id, so that every server can follow the run. A cancellation that was requested just before the
   * launch is forwarded to the updater.
   */
  async #publishContainer(updater: string): Promise<void> {
    const { engine, ledger, settings, timing, closing } = this.#context;
    const { id, cancelRequestedBy } = this.record.run;
    const insist = <T>(attempt: () => Promise<T>, message: string): Promise<T | null> => {
      const failed = (cause: unknown) => {
        settings.log({ level: 'warn', message, cause });
        return !this.record.hasEnded;
      };
      return retryWithBackoff(attempt, failed, timing, closing);
    };
    const stop = () =>
      insist(() => engine.killContainer(updater, 'SIGTERM'), 'failed to stop the updater; retrying');
    if (cancelRequestedBy !== null) await stop();
    const publish = () => ledger.changeOpenRun(id, (now) => ({ ...now, updater }));
    const open = await insist(publish, 'failed to record the running updater in the store; retrying');
    const by = open?.run.cancelRequestedBy ?? null;
    if (by === null || this.record.run.cancelRequestedBy !== null) return;
    this.record.setFields({ cancelRequestedBy: by });
    await stop();
  }
}

const createUpdaterStartError = (error: unknown): UpdaterNotStartedError =>
  new UpdaterNotStartedError('failed', 'the updater could not be started; nothing was changed', {
    code: 'launch-failed',
    advice: "Check the server's log, then run the update again.",
    error,
  });
