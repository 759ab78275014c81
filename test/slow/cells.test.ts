import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { rowNames } from '../matrix/results.ts';

// An older base stays good: Debian's client 28 and compose 2.40, on engine 26.1, for an instance that compose 2.26 has made.
test('one update of each kind, with an image on the programs of Debian and an older engine', {
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
