import { composeCommand, onTestHost, runByHand, startBenchInstance } from './bench-instance.ts';
import { type Comparison, describeMachine, inPairs, median, report, timed } from './compare.ts';

/**
 * What scripts/bench runs for `plan`: how its time grows with the services of a project, beside compose's own for the two
 * models that a plan is made from. To pick two services out of a thousand takes compose seconds.
 */

const pairs = Number(process.env.PAIRS ?? 10);
const sizes = [10, 100, 1000] as const;
const compose = composeCommand('variable');
const models = `${compose} config --format json >/dev/null; ${compose} config --format json app worker >/dev/null`;

await onTestHost(async (host) => {
  console.log(`${pairs} pairs, one after the other in turns; ${describeMachine()}`);
  const all: Comparison[] = [];
  for (const size of sizes) {
    // The instance has five; the others are there in the file, and none of them runs.
    const others = Array.from({ length: size - 5 }, (_, number) => [`other${number}`, 'tunnel'] as const);
    const { instance } = await startBenchInstance(host, 1, {
      text: { service: Object.fromEntries(others) },
      up: ['--no-deps', 'app', 'worker'],
    });
    const { ours, theirs } = await inPairs(pairs, {
      ours: () =>
        timed(async () => {
          const { exitCode, log } = await instance.update(['plan', '--target', 'v1.20.0']);
          if (exitCode !== 0) throw new Error(log);
        }),
      theirs: () => timed(() => runByHand(instance, models)),
    });
    const figure = `plan with ${size.toLocaleString('en-US')} services`;
    all.push({ figure, against: 'compose config, twice', unit: 'ms', reach: null, ours, theirs });
    await instance.dispose();
  }
  report(all);
  console.log(`slope of plan: ${slope(all.map(({ ours }) => median(ours)))}`);
  console.log(`slope of compose's own time: ${slope(all.map(({ theirs }) => median(theirs)))}`);
});

/** Linear growth has the second no higher than the first. */
function slope([small = 0, middle = 0, large = 0]: readonly number[]): string {
  const [early, late] = [(middle - small) / (sizes[1] - sizes[0]), (large - middle) / (sizes[2] - sizes[1])];
  return `${early.toFixed(2)} ms a service from 10 to 100, ${late.toFixed(2)} ms from 100 to 1,000`;
}
