import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { findContainers, listContainers } from '../rig/engine-api.ts';
import { type Instance, startInstance } from '../rig/instance.ts';
import type { UpdateResult, UpdaterRun } from '../rig/updater-run.ts';
import type { OwnEngine } from './own-engine.ts';
import { type OwnHost, tryOnOwnHost } from './own-host.ts';

// The engine is killed, restarted, or loses its power during a rehearsal (docs/contract.md 13.2 and 13.6). 60 s later
// nothing is suspended, nothing of the rehearsal is running, and the app answers. The next run removes the rest.
// With LIVE_RESTORE=yes, containers continue when the engine ends.

const toNext = ['rehearse', '--target', 'v1.1.0'];
/** After each of these lines, the engine is struck. */
const moments = [
  /copying the data/,
  /suspending .* for the second copy/,
  /are running again after/,
  /starting v1\.0\.0 on the copy/,
  /starting v1\.1\.0 on the copy/,
];
const strikes: Record<string, (engine: OwnEngine) => Promise<void>> = {
  killed: async (engine) => {
    await engine.kill();
    await engine.start();
  },
  restarted: async (engine) => {
    await engine.stop();
    await engine.start();
  },
  'without power': async (engine) => {
    await engine.cut();
    await engine.start();
  },
};

const isLive = process.env.LIVE_RESTORE === 'yes';

/** The process states of the containers of a project, such as `S`; `T` is suspended. */
async function statesOf({ project }: Instance): Promise<string> {
  const own = (await findContainers(project)).filter(
    ({ Config, State }) => Config.Labels['com.docker.compose.project'] === project && State.Running,
  );
  const lists = await Promise.all(own.map(({ Id }) => execa('docker', ['top', Id, '-eo', 'pid,stat'])));
  return lists.flatMap(({ stdout }) => stdout.split('\n').slice(1)).join(' ');
}

/** What is wrong now, or an empty list. */
async function findFaults(instance: Instance): Promise<string[]> {
  const rehearsed = (await findContainers(`${instance.project}-rehearsal-`)).filter(
    ({ State }) => State.Running,
  );
  return [
    ...(/\d+ T/.test(await statesOf(instance)) ? ['a container is suspended'] : []),
    ...rehearsed.map(({ Name }) => `${Name} is running`),
    ...((await instance.version().catch(() => null)) === 'v1.0.0' ? [] : ['the app does not answer']),
  ];
}

async function settled(instance: Instance): Promise<string[]> {
  const end = performance.now() + 60_000;
  for (;;) {
    const faults = await findFaults(instance).catch((error: Error) => [error.message]);
    if (faults.length === 0 || performance.now() > end) return faults;
    await sleep(500);
  }
}

/** Objects of a rehearsal that are left. */
async function findRemains({ project }: Instance): Promise<string[]> {
  const labels = ['scratch', 'control'].map((label) =>
    listContainers({ label: [`svc-updater.${label}=${project}`] }),
  );
  const helpers = (await Promise.all(labels)).flat().map((helper) => `helper ${JSON.stringify(helper)}`);
  const containers = (await findContainers(`${project}-rehearsal-`)).map(({ Name }) => `container ${Name}`);
  const { stdout } = await execa('docker', ['network', 'ls', '--format', '{{.Name}}']);
  const networks = stdout.split('\n').filter((name) => name.startsWith(`${project}-rehearsal-`));
  return [...helpers, ...containers, ...networks.map((name) => `network ${name}`)];
}

const endOf = (run: UpdaterRun): Promise<UpdateResult | null> =>
  Promise.race([run.done.catch(() => null), sleep(100_000, null)]);

async function tryAll({ host, engine }: OwnHost): Promise<string[]> {
  const up = ['--no-deps', 'app', 'worker', 'db'];
  const instance = await startInstance(host, { up, publish: ['v1.1.0'] });
  const before = Object.keys(await instance.containers());
  const facts: string[] = [];
  for (const [name, strike] of Object.entries(strikes)) {
    for (const moment of moments) {
      const run = instance.startUpdate(toNext, { keep: true });
      run.done.catch(() => {});
      await run.waitFor(moment);
      await strike(engine);
      const faults = await settled(instance);
      await endOf(run);
      await execa('docker', ['rm', '--force', run.name], { reject: false });
      const next = await instance.update(toNext);
      if (next.exitCode !== 0) faults.push(`the next rehearsal exits with ${next.exitCode}: ${next.log}`);
      faults.push(...(await findRemains(instance)));
      const after = Object.keys(await instance.containers());
      if (after.join() !== before.join()) faults.push(`containers: ${after} instead of ${before}`);
      facts.push(...faults.map((fault) => `${name}, after ${moment}: ${fault}\n${run.log}`));
    }
  }
  return facts;
}

await tryOnOwnHost(import.meta.filename, tryAll, { flags: isLive ? ['--live-restore'] : [] });
