import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { describeMachine, inPairs, median, report, timed } from './compare.ts';

/**
 * What scripts/bench runs for `client`: `svc --version` of the client's one file, beside Node that does nothing; and how
 * large that file is.
 */

const pairs = Number(process.env.PAIRS ?? 100);
const most = { milliseconds: 60, kilobytes: 400 };
const root = fileURLToPath(new URL('../..', import.meta.url));

const directory = await mkdtemp(join(tmpdir(), 'svc-updater-client-'));
try {
  console.log(`${pairs} pairs, one after the other in turns; ${describeMachine()}`);
  await execa(process.execPath, [join(root, 'scripts/build.mjs'), directory]);
  const client = join(directory, 'svc.mjs');
  const node = (args: readonly string[]) => () => timed(() => execa(process.execPath, args));
  const { ours, theirs } = await inPairs(pairs, {
    ours: node([client, '--version']),
    theirs: node(['-e', '0']),
  });
  report([{ figure: 'svc --version', against: 'node -e 0', unit: 'ms', reach: null, ours, theirs }]);
  const beyond = median(ours) - median(theirs);
  const kilobytes = (await stat(client)).size / 1000;
  const judged = (isReached: boolean) => (isReached ? 'REACHED' : 'NOT REACHED');
  console.log(
    `Beyond Node's own start: ${beyond.toFixed(0)} ms of at most ${most.milliseconds} ms, ${judged(beyond <= most.milliseconds)}.`,
  );
  console.log(
    `The file: ${kilobytes.toFixed(0)} KB of at most ${most.kilobytes} KB, ${judged(kilobytes <= most.kilobytes)}.`,
  );
} finally {
  await rm(directory, { recursive: true, force: true });
}
