import type { RollbackableRun } from '../../../wire/derived/rollbackable-run.ts';
import { type Reason, type RollbackOffer, type Run, rollbackOfferSchema } from '../../../wire/status.ts';
import type { Deployment } from '../../deployment/read-deployment.ts';
import { createRun, RunRecord } from '../run-record.ts';
import type { ServerContext } from '../server-context.ts';
import { followRunLog } from '../track/follow-run-log.ts';
import { UpdaterNotStartedError } from '../updater-not-started-error.ts';
import { runWithAdditionalUpdater } from './run-additional-updater.ts';

/** Effects of a rollback, or the reason why it is not possible; null if the server is closing. */
type RollbackPreview = { offer: RollbackOffer } | { reason: Reason } | null;

/**
 * A preview is cached for this many ms. Creating a preview is slow, because an updater reads the whole restore point.
 */
const previewCacheMs = 60_000;

/** Caches the effects of a rollback, which an updater determines in a dry run. */
export class RollbackPreviewCache {
  readonly #context: ServerContext;
  #last: { of: string; answer: Promise<RollbackPreview>; endedAt: number } | null = null;

  constructor(context: ServerContext) {
    this.#context = context;
  }

  /**
   * Returns the effects of a rollback. If a dry run is in progress, waits for its result.
   * @throws EngineError
   */
  getPreview({ id, restorePoint }: RollbackableRun, deployment: Deployment): Promise<RollbackPreview> {
    const last = this.#last;
    if (last?.of === id && performance.now() - last.endedAt < previewCacheMs) return last.answer;
    const requested = {
      of: id,
      answer: this.#look(restorePoint.version, deployment),
      endedAt: Number.POSITIVE_INFINITY,
    };
    this.#last = requested;
    requested.answer.then(
      () => {
        requested.endedAt = performance.now();
      },
      () => this.clear(),
    );
    return requested.answer;
  }

  clear(): void {
    this.#last = null;
  }

  async #look(version: string, deployment: Deployment): Promise<RollbackPreview> {
    const { engine, settings, timing, closing } = this.#context;
    const told = new Date().toISOString();
    // This run's record is only used to parse the last log line. Users never see the record.
    const origin = {
      id: `rollback-${deployment.project}`,
      kind: 'rollback',
      from: settings.version,
      to: version,
    } as const;
    const record = new RunRecord(createRun({ ...origin, startedAt: told }));
    const answered = new AbortController();
    const late = AbortSignal.timeout(timing.check);
    const signal = AbortSignal.any([closing, late, answered.signal]);
    let offer: RollbackOffer | undefined;
    try {
      const order = { command: ['rollback'] as const, record, deployment, signal };
      await runWithAdditionalUpdater('rollback', order, this.#context, (containerId) =>
        followRunLog(containerId, record, { engine, timing, closing: signal }, (_, fields) => {
          offer ??= rollbackOfferSchema.read(fields.rollback);
          if (offer) answered.abort();
        }),
      );
    } catch (error) {
      if (closing.aborted) return null;
      if (late.aborted) return { reason: previewTimeoutReason };
      if (!(error instanceof UpdaterNotStartedError)) throw error;
      record.end(error.result);
    }
    if (offer) {
      const { from, to, at, since, downtimeSeconds } = offer;
      const known = { from: from ?? settings.version, to, at, downtimeSeconds };
      return { offer: since === undefined ? known : { ...known, since } };
    }
    if (record.hasEnded) return { reason: rollbackReasonOf(record.run) };
    return closing.aborted ? null : { reason: previewTimeoutReason };
  }
}

const previewTimeoutReason: Reason = {
  code: 'rollback-refused',
  message: 'checking the restore point took too long',
  advice:
    'Run svc-updater rollback on the server. Without --yes, the command only prints what it would restore.',
};

const rollbackReasonOf = ({ message, cause, code, advice }: Run): Reason => ({
  code: 'rollback-refused',
  message: cause ?? message,
  ...(code !== null && { refusal: code }),
  ...(advice !== null && { advice }),
});
