import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { whyNotRootless } from '../faults/rootless.ts';
import { type RowName, rowNames } from '../matrix/results.ts';
import { updaterImage } from '../rig/updater-run.ts';

// Two cells of `scripts/matrix`, which tries every other pair on every other engine.
const timeout = 610_000;

/** Gives what it said. */
async function runCell(cell: string, image: string): Promise<{ all: string; exitCode: number | undefined }> {
  const { all, exitCode } = await execa('scripts/matrix', ['--once', '--image', image, '--only', cell], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    all: true,
    reject: false,
    stdin: 'ignore',
    timeout: 600_000,
  });
  return { all, exitCode };
}

function expectWell(
  cell: string,
  { all, exitCode }: Awaited<ReturnType<typeof runCell>>,
  rows: readonly RowName[],
): void {
  for (const row of rows) expect(all).toContain(`ok   ${cell} ${row}, `);
  expect(exitCode, all).toBe(0);
}

// An older base stays good: Debian's client 28 and compose 2.40, on engine 26.1, for an instance that compose 2.26 has made.
test('one update of each kind, with an image on the programs of Debian and an older engine', {
  timeout,
}, async () => {
  const cell = '2.40/2.26/26.1';
  expectWell(
    cell,
    await runCell(cell, process.env.SVC_UPDATER_SECOND_IMAGE ?? 'svc-updater:debian'),
    rowNames,
  );
});

test("one update of each kind on an ordinary user's engine, and a file that is not his", { timeout }, async ({
  skip,
}) => {
  const why = whyNotRootless();
  if (why !== null) skip(why);
  const cell = '5.4/5.4/29-rootless';
  const ran = await runCell(cell, updaterImage);
  if (ran.all.includes('they need Go')) skip('the newest engine needs Go');
  expectWell(cell, ran, [...rowNames, 'strangers', 'kills', 'points', 'restart']);
});
