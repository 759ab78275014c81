import { sleepFor } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { RemoteImage } from '../../../engine/api-objects.ts';
import { findEngineError } from '../../../engine/http/engine-error.ts';
import { classifyPullFailure } from '../../../engine/registry/classify-pull-failure.ts';
import type { RegistryCredentials } from '../../../engine/registry/registry-credentials.ts';
import type { EngineContext } from '../../run/run-context.ts';

/** Image that a tag points to in the registry, and the credentials that the registry accepted. */
export interface PublishedImage extends RemoteImage {
  reference: string;
  credentials: RegistryCredentials | null;
}

const pausesMs = [2_000, 5_000, 10_000];

/**
 * Queries the registry for the image that a reference points to. Retries temporary failures.
 * @throws UpdateError pull-…, engine-version
 */
export async function fetchPublishedImage(
  { engine, log }: EngineContext,
  repository: string,
  reference: string,
): Promise<PublishedImage> {
  if (engine.isPodman) {
    const message = `podman cannot report which image the registry has for ${reference}`;
    throw new UpdateError('engine-version', message, { advice: 'Run the update without prefetching.' });
  }
  const login = await engine.readOwnCredentials(repository);
  for (let attempt = 0; ; attempt++) {
    // The engine waits for the registry, so if the engine times out, the registry is the cause.
    const told = await engine.inspectRemoteImage(reference, login).catch((error) => {
      const cause = findEngineError(error);
      if (cause === null || cause.code === 'unsupported') throw error;
      const { status, message } = cause;
      return { status, said: status === null ? `timeout: ${error.message}` : message };
    });
    if ('digest' in told) return { ...told, reference, credentials: login };
    await waitBeforePullRetry(told, { reference, attempt, engine, log });
  }
}

/**
 * Waits before the next try. Throws the given error instead if another try would not help, or if this was the last try.
 * @throws UpdateError pull-…
 */
export async function waitBeforePullRetry(
  { said: given, status }: { said: string; status: number | null },
  { reference, attempt, engine, log }: EngineContext & { reference: string; attempt: number },
): Promise<void> {
  const { code, retryPolicy: again, sentence, advice } = classifyPullFailure(given, [reference], status);
  const pauseMs = again === 'never' ? undefined : pausesMs[attempt];
  if (pauseMs === undefined)
    throw new UpdateError(code, `${reference}: ${sentence}`, { detail: [given], ...(advice && { advice }) });
  log.warn(`${reference}: ${sentence}; trying again in ${pauseMs / 1000} s (${given})`);
  await sleepFor(pauseMs, engine.aborted);
  engine.aborted.throwIfAborted();
}
