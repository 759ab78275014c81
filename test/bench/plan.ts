import { onTestHost, startBenchInstance } from './bench-instance.ts';
import { describeMachine, median, printTable, timed } from './compare.ts';

/** What scripts/bench runs for `plan`: how its time grows with the services of a project. */

const runs = Number(process.env.PAIRS ?? 10);
const sizes = [10, 100, 1000] as const;

await onTestHost(async (host) => {
  console.log(`medians of ${runs} runs of docker run … plan; ${describeMachine()}`);
  const times: number[] = [];
  for (const size of sizes) times.push(await measure(size));
  const [small = 0, middle = 0, large = 0] = times;
  printTable([
    ['services', 'ms'],
    ...sizes.map((size, index) => [String(size), (times[index] ?? 0).toFixed(0)]),
  ]);
  const slopes = [(middle - small) / (sizes[1] - sizes[0]), (large - middle) / (sizes[2] - sizes[1])];
  console.log(
    `slope: ${slopes[0]?.toFixed(2)} ms a service from 10 to 100, ${slopes[1]?.toFixed(2)} ms from 100 to 1,000 (linear: the second is no more than the first)`,
  );
  console.log(JSON.stringify({ sizes, ms: times.map(Math.round), slopes }));

  async function measure(size: number): Promise<number> {
    // The instance has five; the others are there in the file, and none of them runs.
    const others = Array.from({ length: size - 5 }, (_, number) => [`other${number}`, 'tunnel'] as const);
    const { instance } = await startBenchInstance(host, 1, {
      text: { service: Object.fromEntries(others) },
      up: ['--no-deps', 'app', 'worker'],
    });
    const list: number[] = [];
    for (let run = 0; run <= runs; run++) {
      const ms = await timed(async () => {
        const { exitCode, log } = await instance.update(['plan', '--target', 'v1.20.0']);
        if (exitCode !== 0) throw new Error(log);
      });
      if (run > 0) list.push(ms);
    }
    await instance.dispose();
    return median(list);
  }
});
