import type { Instance } from '../rig/instance.ts';
import { watchOutage } from '../rig/outage.ts';
import type { TestHost } from '../rig/test-host.ts';
import { updaterImage } from '../rig/updater-run.ts';
import {
  composeCommand,
  onTestHost,
  runByHand,
  runUpdater,
  setVariables,
  startBenchInstance,
} from './bench-instance.ts';
import { type Comparison, describeMachine, inPairs, processorTimeOf, report, timed } from './compare.ts';

/**
 * The section `update` of scripts/bench: complete updates, compared with manual commands in a container of the same
 * image.
 */

const pairs = Number(process.env.PAIRS ?? 9);
/** Compares with updates by this image, such as the image of an earlier release, instead of manual commands. */
const otherImage = process.env.SVC_UPDATER_OTHER_IMAGE;
/**
 * Seconds for the start of the app with its migrations, from the first to the last pair; the same for both runs of a
 * pair.
 */
const boot = [1.25, 1.75] as const;
const slowStop = 5;

type Kind = 'variable' | 'generated';

interface Profile {
  name: string;
  kind: Kind;
  /** Seconds, by pair. */
  bootOf: (pair: number) => number;
  /** Environment of the worker. */
  env?: Record<string, string>;
  /** The maximum ratios to reach; null if the figure is only reported. */
  reach: Partial<Record<'whole' | 'away', number | null>>;
}

// Compose polls twice a second. Start times are spread evenly because a fixed time just before or after a poll would
// decide the result.
const evenly = (pair: number) => boot[0] + ((boot[1] - boot[0]) * ((pair * 5) % pairs)) / pairs;

const profiles: Profile[] = [
  { name: 'user-written', kind: 'variable', bootOf: evenly, reach: { whole: 1.05, away: 0.9 } },
  { name: 'generated', kind: 'generated', bootOf: evenly, reach: { whole: 1.05, away: 0.9 } },
  {
    name: `worker stops in ${slowStop} s`,
    kind: 'variable',
    bootOf: () => 0,
    env: { STOP_DELAY: `'${slowStop}'` },
    reach: { whole: 1.05, away: 0.2 },
  },
  { name: 'app boots in no time', kind: 'variable', bootOf: () => 0, reach: { whole: 1.12, away: null } },
  { name: 'generated, no time', kind: 'generated', bootOf: () => 0, reach: { whole: 1.12 } },
];

await onTestHost(async (host) => {
  console.log(
    `${pairs} pairs, one after the other in turns; ${describeMachine()}; the app boots in ${boot.join(' to ')} s`,
  );
  const all: Comparison[] = [];
  for (const profile of profiles) all.push(...(await measure(host, profile)));
  report(all);
});

async function measure(host: TestHost, { name, kind, bootOf, env, reach }: Profile): Promise<Comparison[]> {
  const { instance, next } = await startBenchInstance(host, 4 * (pairs + 1), {
    kind,
    text: {
      environment: { READY_AFTER: '$' + '{READY_AFTER:-}' },
      ...(env ? { workerEnvironment: env } : {}),
    },
  });
  try {
    const against = otherImage ?? (kind === 'generated' ? 'pull, cp, up --wait' : 'pull, up --wait');
    const updateWith = async (what: 'whole' | 'away', pair: number, image: string) => {
      const to = next();
      await setVariables(instance, { READY_AFTER: bootOf(pair).toFixed(2) });
      return measureOne(what, instance, to, () => runUpdater(instance, ['--target', to], 'updated', image));
    };
    const comparisons: Comparison[] = [];
    // Polling every 5 ms slows down the machine: the duration is measured without polling.
    for (const what of ['whole', 'away'] as const) {
      const wanted = reach[what];
      if (wanted === undefined) continue;
      const { ours, theirs } = await inPairs(pairs, {
        ours: (pair) => updateWith(what, pair, updaterImage),
        theirs: async (pair) => {
          if (otherImage) return updateWith(what, pair, otherImage);
          const to = next();
          // An operator edits the file first; here, that takes no time.
          await setVariables(instance, { READY_AFTER: bootOf(pair).toFixed(2), SVC_VERSION: to });
          return measureOne(what, instance, to, () => runByHand(instance, byHand(instance, kind, to)));
        },
      });
      const figure = `${name}: ${what === 'whole' ? 'whole update' : 'app away'}`;
      const select = (key: keyof Measured) => ({
        ours: ours.map((each) => each[key]),
        theirs: theirs.map((each) => each[key]),
      });
      comparisons.push({ figure, against, unit: 'ms', reach: wanted, ...select('ms') });
      if (what === 'whole')
        comparisons.push({
          figure: `${name}: processor time`,
          ...{ against, unit: 'ms', reach: null },
          ...select('processorMs'),
        });
    }
    return comparisons;
  } finally {
    await instance.dispose();
  }
}

interface Measured {
  /** The duration, or the time in which the app did not respond. */
  ms: number;
  processorMs: number;
}

async function measureOne(
  what: 'whole' | 'away',
  instance: Instance,
  to: string,
  work: () => Promise<void>,
): Promise<Measured> {
  const watch = what === 'away' ? watchOutage(`http://127.0.0.1:${instance.port}/version`) : undefined;
  let whole = 0;
  const processorMs = await processorTimeOf(async () => {
    whole = await timed(work);
  }).finally(() => watch?.stop());
  const outage = await watch?.stop();
  if (outage && (outage.gaps === 0 || !outage.back)) {
    throw new Error(`the app was away ${outage.gaps} times, and is ${outage.back ? '' : 'not '}back`);
  }
  if ((await instance.version()) !== to) throw new Error(`the app does not run ${to}`);
  return { ms: outage?.awayMs ?? whole, processorMs };
}

/** The new file of a generated install is copied from the image. */
function byHand(instance: Instance, kind: Kind, to: string): string {
  const compose = composeCommand(kind);
  const copy = `id=$(docker create ${instance.image}:${to} -)
docker cp "$id:/usr/share/svc/release/compose.yaml" compose.yaml
docker rm -v "$id"`;
  return `${compose} pull app worker
${kind === 'generated' ? copy : ''}
${compose} up -d --no-deps --wait app worker`;
}
