import { describe, expect, it } from 'vitest';
import { toHealthCheck } from '../../../src/engine/objects/health-check.ts';

// Results as reported by engine 29.8.
const result = (ExitCode: number, Output = '') => ({ ExitCode, Output });
const gone = result(
  -1,
  'OCI runtime exec failed: exec failed: unable to start container process: exec: "/bin/wget": stat /bin/wget: no such file or directory',
);
const slow = result(-1, 'Health check exceeded timeout (1s)');
const refused = result(1, "wget: can't connect to remote host: Connection refused\n");

describe('toHealthCheck', () => {
  it.each<[results: string, log: object[], cannotRun: boolean]>([
    ['none yet', [], false],
    ['a program that is missing', [gone, gone], true],
    ['a shell that finds no program', [result(127, '/bin/sh: nope: not found\n')], true],
    ['a program that may not run', [result(126, '/bin/sh: /www: Permission denied\n')], true],
    ['a missing program of busybox, then exit 1', [result(1, '/bin/sh: curl: not found\n')], true],
    ['the same of dash', [result(1, '/bin/sh: 1: curl: not found\n')], true],
    ['the same of bash', [result(1, 'bash: line 1: curl: command not found\n')], true],
    [
      'a page that was not found',
      [result(1, 'wget: server returned error: HTTP/1.1 404 Not Found\n')],
      false,
    ],
    ['a missing program beside another failure', [result(1, 'sh: jq: not found\nno route\n')], false],
    ['a check that took too long', [slow], false],
    ['a check that failed', [refused], false],
    ['a check that failed in silence', [result(1)], false],
    ['a program that went missing', [refused, gone], false],
    ['success', [result(0, '/bin/sh: jq: not found\n')], false],
  ])('detects whether a check cannot run: %s', (_, log, cannotRun) => {
    expect(toHealthCheck({}, log).cannotRun).toBe(cannotRun);
  });

  it.each<[log: object[], failing: string | null]>([
    [[], null],
    [[refused, result(0, 'ok')], null],
    [[result(0), refused], "1 wget: can't connect to remote host: Connection refused"],
    [
      [result(7, ' 0 0 --:--:-- 0\r\ncurl: (7) Failed after 12 ms: refused\n')],
      '7 curl: (7) Failed after : refused',
    ],
    [[slow], '-1 Health check exceeded timeout ()'],
  ])('keeps the last failure without durations: %j', (log, failing) => {
    expect(toHealthCheck({}, log).failureText).toBe(failing);
  });

  it('computes the time until a decision from the start period and all retries', () => {
    const [second, given] = [1e9, { Test: ['CMD', 'x'] }];
    expect(toHealthCheck(given, null).longestDecisionMs).toBe(180_000);
    const own = { Interval: 600 * second, Timeout: 5 * second, Retries: 2, StartPeriod: 60 * second };
    expect(toHealthCheck({ ...given, ...own }, null).longestDecisionMs).toBe(1_270_000);
    expect(toHealthCheck({ ...given, ...own }, null).shortestDecisionMs).toBe(600_000);
  });
});
