import { execa } from 'execa';
import { type Instance, startInstance } from '../rig/instance.ts';
import { publish } from '../rig/registry.ts';
import type { TestHost } from '../rig/test-host.ts';
import { onTestHost, runInImage, setVariables } from './bench-instance.ts';
import { type Comparison, describeMachine, inPairs, report } from './compare.ts';

/** What scripts/bench runs for `pull`: the phase `pull` of an update, with big images, beside `docker compose pull`. */

const pairs = Number(process.env.PAIRS ?? 15);
const megabytes = 200;
const [from, to] = ['v1.0.0', 'v1.20.0'];

await onTestHost(async (host) => {
  console.log(
    `${pairs} pairs, one after the other in turns; images of ${megabytes} MB that share nothing; ${describeMachine()}`,
  );
  const all: Comparison[] = [];
  for (const count of [1, 2, 5]) all.push(await measure(host, count));
  report(all);
});

async function measure(host: TestHost, count: number): Promise<Comparison> {
  const name = `${host.run}-pull${count}`;
  const services = Array.from({ length: count }, (_, number) => (number === 0 ? 'app' : `worker${number}`));
  const repositories = services.map((_, number) => `${name}/svc${number || ''}`);
  for (const repository of repositories) {
    await publish(host.registry, repository, from);
    // Known to be older only once it is pulled: so the run ends there, and nothing is replaced.
    const release = { version: '0.9.0', ballast: megabytes * 1_000_000 };
    await publish(host.registry, repository, to, release);
  }
  const images = repositories.map((repository) => `${host.registry}/${repository}:${to}`);
  const lines = services.map(
    (service, number) => `  ${service}:
    image: ${host.registry}/${repositories[number]}:$\{SVC_VERSION}
    command: tunnel
    stop_grace_period: 1s
`,
  );
  const instance = await startInstance(host, {
    name,
    layout: () => ({
      files: { 'compose.yaml': `services:\n${lines.join('')}`, '.env': `SVC_VERSION=${from}\n` },
      flags: [],
    }),
    publish: [],
  });
  try {
    const { ours, theirs } = await inPairs(pairs, {
      ours: async () => {
        await forget(images);
        return phaseOf(instance, services);
      },
      theirs: async () => {
        await forget(images);
        return byHand(instance, services);
      },
    });
    const figure = `pull of ${count} × ${megabytes} MB`;
    return { figure, against: 'docker compose pull', unit: 'ms', reach: 1.02, ours, theirs };
  } finally {
    await instance.dispose();
  }
}

/** From the last line of the plan to the line that tells that all is here, by the log itself. */
async function phaseOf(instance: Instance, services: readonly string[]): Promise<number> {
  const flags = services.flatMap((service) => ['--service', service]);
  const { lines, exitCode, log } = await instance.update(['--target', to, ...flags]);
  const begin = lines.findLast(({ phase }) => phase === 'plan');
  const end = lines.find(({ percent }) => percent === 100);
  if (exitCode !== 3 || begin === undefined || end === undefined) throw new Error(log);
  return Date.parse(end.time) - Date.parse(begin.time);
}

/** The command alone, without the container that it runs in. */
async function byHand(instance: Instance, services: readonly string[]): Promise<number> {
  await setVariables(instance, { SVC_VERSION: to });
  const timed = `const began = performance.now();
const { status } = require('node:child_process').spawnSync('docker', ['compose', 'pull', ...process.argv.slice(1)]);
console.log(status === 0 ? performance.now() - began : 'failed');`;
  const output = await runInImage(instance, '/usr/local/bin/node', ['-e', timed, ...services]);
  await setVariables(instance, { SVC_VERSION: from });
  const ms = Number(output.trim());
  if (!(ms > 0)) throw new Error(`docker compose pull: ${output}`);
  return ms;
}

async function forget(images: readonly string[]): Promise<void> {
  await execa('docker', ['image', 'rm', '--force', ...images], { reject: false });
  // What the pull before has left to be written must not be this one's to wait for.
  await execa('sync');
}
