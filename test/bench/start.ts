import { execa } from 'execa';
import { dockerRun, updaterImage } from '../rig/updater-run.ts';
import { onTestHost, runUpdater, startBenchInstance } from './bench-instance.ts';
import { describeMachine, inPairs, report, timed } from './compare.ts';

/**
 * The section `start` of scripts/bench: time from `docker run` to the first log line, which contains the engine,
 * compose and the instance; compared with `docker run` of the same image, and with a Node program that does nothing.
 */

const pairs = Number(process.env.PAIRS ?? 20);

await onTestHost(async (host) => {
  console.log(`${pairs} pairs, one after the other in turns; ${describeMachine()}`);
  const { instance } = await startBenchInstance(host, 0);
  await runUpdater(instance, ['--target', 'v1.0.0'], 'unchanged');
  const { ours, theirs } = await inPairs(pairs, {
    ours: () =>
      untilFirstLine(dockerRun(`${instance.name}-start`, instance.directory, ['--target', 'v1.0.0'], {})),
    theirs: () =>
      timed(() =>
        execa('docker', ['run', '--rm', '--entrypoint', '/usr/local/bin/node', updaterImage, '-e', '0']),
      ),
  });
  report([{ figure: 'first line of the log', against: 'node -e 0', unit: 'ms', reach: 1.5, ours, theirs }]);
});

async function untilFirstLine(args: readonly string[]): Promise<number> {
  const began = performance.now();
  const run = execa('docker', args, { stdin: 'ignore' });
  const first = new Promise<number>((resolve) =>
    run.stdout.once('data', () => resolve(performance.now() - began)),
  );
  await run;
  return first;
}
