import { Readable } from 'node:stream';
import { afterEach, expect, it, vi } from 'vitest';
import type { Session } from '../../src/client/connection/create-session.ts';
import { followRunToResult } from '../../src/client/follow/follow-run-to-result.ts';
import { parseRunWithServerTime } from '../../src/wire/api-client/parse-responses.ts';
import { UpdateApiClient } from '../../src/wire/api-client/update-api-client.ts';

afterEach(() => void vi.useRealTimers());

/** Follows an update of a server that does not respond, with a clock controlled by the test. */
function follow(timeout: number, asleep = () => 0) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
  const now = '2026-11-21T10:42:00Z';
  const run = parseRunWithServerTime({ id: 'a', state: 'recreate', startedAt: now, now });
  if (run === null) throw new Error('no run');
  let out = '';
  const output = { write: (text: string) => (out += text) };
  const fetch = async () => Promise.reject(new TypeError('fetch failed'));
  const config = {
    url: 'http://svc',
    token: null,
    urlSetting: 'SVC_URL',
    tokenSetting: 'SVC_TOKEN',
    insecureFile: null,
  };
  const session: Session = {
    reader: new UpdateApiClient({ address: 'http://svc', fetch }),
    config,
    args: { options: {}, list: [], words: [] },
    env: {},
    stdout: output,
    stderr: output,
    stdin: Readable.from([]),
    isTerminal: false,
    canPrompt: false,
    columns: () => 80,
    rows: () => 24,
    signal: new AbortController().signal,
    version: 'v1.0.0',
    trust: null,
    now: () => performance.now() + asleep(),
  };
  let exitCode: number | null = null;
  void followRunToResult(session, { run, timeout, json: false }).then((ended) => {
    exitCode = ended.exitCode;
  });
  return { said: () => out, exitCode: () => exitCode };
}

it('stops following exactly when the timeout has passed without a response', async () => {
  const { said, exitCode } = follow(90);
  await vi.advanceTimersByTimeAsync(88_000);
  expect([exitCode(), said()]).toEqual([null, expect.not.stringContaining('unknown')]);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(exitCode()).toBe(1);
  expect(said()).toContain('\nsvc has not responded for 1 min 30 s; the result of the update is unknown.\n');
});

it('prints the log command once during a long downtime', async () => {
  const { said } = follow(900);
  await vi.advanceTimersByTimeAsync(200_000);
  expect(said().match(/svc has been unavailable for .*/g)).toEqual([
    'svc has been unavailable for 1 min. On the server, run: docker logs svc-updater',
  ]);
  expect(said().match(/^Replacing, .*: svc is unavailable$/gm)).toHaveLength(20);
});

it('does not count the time during which the machine sleeps as time without a response', async () => {
  let asleep = 0;
  const { said, exitCode } = follow(90, () => asleep);
  await vi.advanceTimersByTimeAsync(40_000);
  asleep = 3_600_000;
  await vi.advanceTimersByTimeAsync(88_000);
  expect([exitCode(), said()]).toEqual([null, expect.not.stringContaining('unknown')]);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(exitCode()).toBe(1);
});
