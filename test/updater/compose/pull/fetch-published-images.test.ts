import { afterEach, expect, it, vi } from 'vitest';
import { CancelledError } from '../../../../src/core/cancellation/cancelled.ts';
import { fetchPublishedImage } from '../../../../src/updater/compose/pull/fetch-published-images.ts';
import { engineThat, rememberingLog } from '../../../build-plan.ts';

afterEach(() => vi.restoreAllMocks());

it('sends no more requests to a registry after the run is cancelled, and does not wait for the next attempt', async () => {
  const asked: string[] = [];
  const engine = await engineThat((from, to) => {
    asked.push(from.url ?? '');
    to.writeHead(500).end('{"message":"received unexpected HTTP status: 503 Service Unavailable"}');
  });
  const stop = new AbortController();
  const wait = globalThis.setTimeout;
  // Only the signal ends the pause.
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
    if (ms !== 2_000) return wait(work, ms);
    queueMicrotask(() => stop.abort(new CancelledError()));
    return wait(() => {}, 0);
  }) as typeof setTimeout);
  const { log, lines } = rememberingLog();
  const asking = fetchPublishedImage(
    { engine: engine.until(stop.signal), log },
    'acme/svc',
    'acme/svc:v1.1.0',
  );
  await expect(asking).rejects.toThrow(CancelledError);
  expect(lines).toEqual([expect.stringContaining('trying again in 2 s')]);
  expect(asked).toHaveLength(1);
});
