import { execa } from 'execa';
import type { Instance } from '../rig/instance.ts';
import type { TestHost } from '../rig/test-host.ts';
import { onTestHost, runUpdater, startBenchInstance } from './bench-instance.ts';
import { type Comparison, describeMachine, report, timed } from './compare.ts';

/**
 * The section `large` of scripts/bench: `plan` and `update` of an instance of 100 services on an engine with 500
 * containers, compared with an instance of five services on the same engine without them. The services of the instance
 * are running. The unrelated containers, 20 for each project, were created and never started, which costs the engine
 * as much in lists.
 */

const tries = Number(process.env.PAIRS ?? 9);
const services = 100;
const containers = 500;
const ofProject = 20;
const atATime = 4;

await onTestHost(async (host) => {
  console.log(`${tries} tries each, one after the other; ${describeMachine()}`);
  const small = await measure(host, 5);
  await makeOthers(host, containers - services);
  const large = await measure(host, services);
  const figures = (['plan', 'update'] as const).map(
    (command): Comparison => ({
      ...{ figure: `${command} of ${services} services, ${containers} containers`, against: 'of 5 services' },
      ...{ unit: 'ms', reach: command === 'plan' ? 1.5 : 2, ours: large[command], theirs: small[command] },
    }),
  );
  report(figures);
});

async function measure(host: TestHost, size: number): Promise<Record<'plan' | 'update', number[]>> {
  const others = Array.from({ length: size - 5 }, (_, number) => [`other${number}`, 'tunnel'] as const);
  const { instance, next } = await startBenchInstance(host, tries + 1, {
    text: { service: Object.fromEntries(others) },
  });
  try {
    const times: Record<'plan' | 'update', number[]> = { plan: [], update: [] };
    for (let nth = 0; nth <= tries; nth++) {
      const to = next();
      const took = {
        plan: await timed(() => plan(instance, to)),
        update: await timed(() => runUpdater(instance, ['--target', to], 'updated')),
      };
      // The first run of each command fills caches and does not count.
      if (nth > 0) for (const command of ['plan', 'update'] as const) times[command].push(took[command]);
    }
    return times;
  } finally {
    await instance.dispose();
  }
}

async function plan(instance: Instance, to: string): Promise<void> {
  const { exitCode, log } = await instance.update(['plan', '--target', to]);
  if (exitCode !== 0) throw new Error(log);
}

/** Containers of other compose projects, which are removed with the host. */
async function makeOthers({ run, parts }: TestHost, count: number): Promise<void> {
  let made = 0;
  const make = async () => {
    while (made < count) {
      const nth = made++;
      const project = `${run}-beside-${Math.floor(nth / ofProject)}`;
      const label = (name: string, value: string) => ['--label', `com.docker.compose.${name}=${value}`];
      const service = `part${nth % ofProject}`;
      const labels = [
        ...label('project', project),
        ...label('service', service),
        ...label('oneoff', 'False'),
        ...label('container-number', '1'),
        ...label('project.working_dir', `/srv/${project}`),
        ...label('project.config_files', `/srv/${project}/compose.yaml`),
      ];
      const name = `${project}-${service}-1`;
      await execa('docker', ['create', '--name', name, ...labels, `${parts}/tunnel:1`, 'tunnel']);
    }
  };
  await Promise.all(Array.from({ length: atATime }, make));
}
