import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { rowNames } from '../matrix/results.ts';

// Older programs still work: client 28 and compose 2.40 of Debian on engine 26.1, with an instance created by compose
// 2.26.
test('an updater image based on Debian completes one update of each kind on an older engine', {
  timeout: 610_000,
}, async () => {
  const cell = '2.40/2.26/26.1';
  const image = process.env.SVC_UPDATER_SECOND_IMAGE ?? 'svc-updater:debian';
  const { all, exitCode } = await execa('scripts/matrix', ['--once', '--image', image, '--only', cell], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    all: true,
    reject: false,
    stdin: 'ignore',
    timeout: 600_000,
  });
  for (const row of rowNames) expect(all).toContain(`ok   ${cell} ${row}, `);
  expect(exitCode, all).toBe(0);
});
