import type { EngineClient } from './http/client.ts';
import { EngineFault } from './http/fault.ts';
import { objectsOf } from './http/lines.ts';
import { PullMeter, type PullProgress } from './pull-progress.ts';
import { loginHeaders, type RegistryLogin } from './registry-login.ts';

export interface PullRequest {
  repository: string;
  /** Or a digest. */
  tag: string;
  login: RegistryLogin | null;
  onProgress: (progress: PullProgress) => void;
  signal: AbortSignal;
}

/** The engine waits for registries, and unpacks large layers. */
const usualSilenceMs = 300_000;

/** Pulls an image over the engine's API. @throws EngineFault with the words of the registry or the engine; the signal's reason */
export async function pullImage(
  engine: EngineClient,
  { repository, tag, login, onProgress, signal }: PullRequest,
  silenceMs = usualSilenceMs,
): Promise<void> {
  const query = new URLSearchParams({ fromImage: repository, tag });
  const headers = loginHeaders(login);
  const { chunks } = await engine.open(
    { method: 'POST', path: `/images/create?${query}`, headers, signal, deadlineMs: silenceMs },
    silenceMs,
  );
  const meter = new PullMeter();
  for await (const event of objectsOf(chunks)) {
    const error = event.error ?? Object(event.errorDetail).message;
    if (typeof error === 'string') throw new EngineFault('refused', error, { status: 500 });
    const progress = meter.add(event);
    if (progress) onProgress(progress);
  }
  signal.throwIfAborted();
  if (!meter.hasEnded) throw new EngineFault('away', 'the answer was interrupted before the pull finished');
}
