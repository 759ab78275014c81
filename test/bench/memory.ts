import { askEngine } from '../rig/engine-api.ts';
import { onTestHost, startBenchInstance } from './bench-instance.ts';
import { describeMachine, quantile, report } from './compare.ts';

/**
 * The section `memory` of scripts/bench: complete updates in a container with a memory limit, for the agent and its
 * child processes.
 */

const runs = Number(process.env.PAIRS ?? 10);
const limitMB = 128;

await onTestHost(async (host) => {
  console.log(
    `${(runs / 2) * 3} updates, a third of them rehearsed, with --memory=${limitMB}m and no swap; ${describeMachine()}`,
  );
  const peaks: number[] = [];
  const kinds = [
    ['variable', []],
    ['generated', []],
    ['variable', ['--rehearse']],
  ] as const;
  for (const [kind, more] of kinds) {
    const { instance, next } = await startBenchInstance(host, runs / 2, { kind });
    for (let run = 0; run < runs / 2; run++) {
      const flags = [`--memory=${limitMB}m`, `--memory-swap=${limitMB}m`];
      const update = instance.startUpdate(['--target', next(), ...more], { docker: flags });
      const peak = watchMemory(update.name);
      const { exitCode, log } = await update.done;
      peaks.push(await peak.stop());
      if (exitCode !== 0) throw new Error(`the update does not get by with ${limitMB} MB:\n${log}`);
    }
    await instance.dispose();
  }
  report([
    {
      figure: 'peak memory of programs',
      against: `a limit of ${limitMB} MB`,
      unit: 'MB',
      reach: 1,
      ours: peaks,
      theirs: peaks.map(() => limitMB),
    },
  ]);
  console.log(
    `The highest of all: ${quantile(peaks, 1).toFixed(0)} MB. Files that are read come on top, as far as there is room.`,
  );
});

/** Polls as often as the engine responds. Returns the maximum in MB, without cached files. */
function watchMemory(container: string): { stop(): Promise<number> } {
  let stopped = false;
  const watch = (async () => {
    let most = 0;
    while (!stopped) {
      const { status, body } = await askEngine('GET', `/containers/${container}/stats?stream=0&one-shot=1`);
      if (status !== 200) continue;
      const { stats = {} } = JSON.parse(body).memory_stats ?? {};
      // The first field is of cgroups version 1, the second of version 2.
      most = Math.max(most, Number(stats.total_rss ?? stats.anon ?? 0));
    }
    return most / 1_000_000;
  })();
  return {
    stop: () => {
      stopped = true;
      return watch;
    },
  };
}
