import { composeCommand, onTestHost, runByHand, runUpdater, startBenchInstance } from './bench-instance.ts';
import { describeMachine, inPairs, report, timed } from './compare.ts';

/** The section `unchanged` of scripts/bench: a run without changes, compared with the pull that it requires. */

const pairs = Number(process.env.PAIRS ?? 15);

await onTestHost(async (host) => {
  console.log(`${pairs} pairs, one after the other in turns; ${describeMachine()}`);
  const { instance } = await startBenchInstance(host, 0);
  const { ours, theirs } = await inPairs(pairs, {
    ours: () => timed(() => runUpdater(instance, ['--target', 'v1.0.0'], 'unchanged')),
    theirs: () => timed(() => runByHand(instance, `${composeCommand('variable')} pull`)),
  });
  report([{ figure: 'unchanged run', against: 'docker compose pull', unit: 'ms', reach: 2, ours, theirs }]);
});
