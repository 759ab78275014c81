import { startBadRegistry } from '../rig/bad-registry.ts';
import { startInstance } from '../rig/instance.ts';
import { composeCommand, onTestHost, runByHand, runUpdater, setVariables } from './bench-instance.ts';
import { type Comparison, describeMachine, inPairs, report, timed } from './compare.ts';

/**
 * The section `prefetch` of scripts/bench: time from the click to the end with prefetched images, compared with the
 * manual commands.
 */

const pairs = Number(process.env.PAIRS ?? 9);
const megabytes = 300;
const megabytesPerSecond = 10;
const bootSeconds = 1;

await onTestHost(async (host) => {
  console.log(
    `${pairs} pairs, one after the other in turns; an app of ${megabytes} MB that boots in ${bootSeconds} s, over a registry at ${megabytesPerSecond} MB/s; ${describeMachine()}`,
  );
  const registry = await startBadRegistry(host.registry);
  registry.fail({ kind: 'slow', bytesPerSecond: megabytesPerSecond * 1e6 }, { on: 'blobs' });
  const kind = 'variable';
  const instance = await startInstance(host, {
    ...{ kind, registry: registry.host, tag: 'v1.0.0', publish: [] },
    text: { environment: { READY_AFTER: `'${bootSeconds}'` } },
  });
  let made = 0;
  const next = async () => {
    const tag = `v1.20.${made++}`;
    await instance.publish(tag, { ballast: megabytes * 1_000_000 });
    return tag;
  };
  try {
    const { ours, theirs } = await inPairs(pairs, {
      ours: async () => {
        const to = await next();
        await runUpdater(instance, ['fetch', '--target', to], 'fetched');
        return timed(() => runUpdater(instance, ['--target', to], 'updated'));
      },
      theirs: async () => {
        await setVariables(instance, { SVC_VERSION: await next() });
        const compose = composeCommand(kind);
        const typed = `${compose} pull app worker\n${compose} up -d --no-deps --wait app worker`;
        return timed(() => runByHand(instance, typed));
      },
    });
    const fetched: Comparison = {
      ...{ figure: 'from the click, prefetched', against: 'pull, up --wait' },
      ...{ unit: 'ms', reach: 0.2, ours, theirs },
    };
    report([fetched]);
  } finally {
    await instance.dispose();
    await registry.close();
  }
});
