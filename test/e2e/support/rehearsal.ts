import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { expect } from 'vitest';
import {
  askEngine,
  type ContainerInspection,
  findContainers,
  findNamed,
  listContainers,
} from '../../rig/engine-api.ts';
import type { UpdaterRun } from '../../rig/updater-run.ts';
import type { Instance } from './instance.ts';

/** Waits until the app runs with the image of this version in the rehearsal, and returns its container. */
export async function awaitRehearsed(
  { project, image }: Instance,
  run: UpdaterRun,
  version: string,
): Promise<ContainerInspection> {
  let hasEnded = false;
  void run.done.finally(() => {
    hasEnded = true;
  });
  while (!hasEnded) {
    const { body } = await askEngine('GET', `/images/${encodeURIComponent(`${image}:${version}`)}/json`);
    const found = (await findContainers(`${project}-rehearsal-`)).find(
      ({ Config, State, Image }) =>
        Config.Labels['com.docker.compose.service'] === 'app' && State.Running && body.includes(Image),
    );
    if (found) return found;
    await sleep(50);
  }
  throw new Error(`${version} was not rehearsed:\n${run.log}`);
}

/** Runs a shell command in a container, and returns its output and exit code. */
export async function runIn({ Id }: ContainerInspection, command: string): Promise<string> {
  const { all, exitCode } = await execa('docker', ['exec', Id, '/bin/sh', '-c', command], {
    all: true,
    reject: false,
  });
  return `${all}${exitCode === 0 ? '' : ` (exit code ${exitCode})`}`;
}

/** Checks that nothing of a rehearsal is left. */
export async function expectNothingLeft({ project }: Instance, log: string): Promise<void> {
  const { containers, networks, volumes } = await findNamed(`${project}-rehearsal-`);
  const helpers = await Promise.all(
    ['scratch', 'control'].map((label) => listContainers({ label: [`svc-updater.${label}=${project}`] })),
  );
  expect([...containers, ...networks, ...volumes, ...helpers.flat()], log).toEqual([]);
}

/** State letters of all processes of the project's running containers: `T` is suspended. */
export async function processStates({ project }: Instance): Promise<string> {
  const own = (await findContainers(project)).filter(
    ({ Config, State }) => Config.Labels['com.docker.compose.project'] === project && State.Running,
  );
  const lists = await Promise.all(own.map(({ Id }) => execa('docker', ['top', Id, '-eo', 'pid'])));
  const pids = lists.flatMap(({ stdout }) =>
    stdout
      .split('\n')
      .slice(1)
      .map((line) => line.trim()),
  );
  return pids.map((pid) => stateOf(pid)).join('');
}

function stateOf(pid: string): string {
  try {
    return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}

/** IP address of a container in its first network. */
export async function addressOf(id: string): Promise<string> {
  const { body } = await askEngine('GET', `/containers/${id}/json`);
  const { NetworkSettings } = JSON.parse(body) as {
    NetworkSettings: { Networks: Record<string, { IPAddress: string }> };
  };
  return Object.values(NetworkSettings.Networks)[0]?.IPAddress ?? '';
}

/** Kills or removes the helper container that suspends processes. A kill is without the engine's help. */
export async function loseControlHelper({ project }: Instance, how: 'killed' | 'removed'): Promise<void> {
  const [name = ''] = await listContainers({ label: [`svc-updater.control=${project}`] });
  if (how === 'removed') {
    await execa('docker', ['rm', '--force', name]);
    return;
  }
  const { body } = await askEngine('GET', `/containers/${name}/json`);
  process.kill((JSON.parse(body) as { State: { Pid: number } }).State.Pid, 'SIGKILL');
}

/** Tries to connect to addresses from the network of a container, and returns the error codes. */
export async function connectFrom({ Id }: ContainerInspection, hosts: readonly string[]): Promise<string[]> {
  const { body } = await askEngine('GET', `/containers/${Id}/json`);
  const { Pid } = (JSON.parse(body) as { State: { Pid: number } }).State;
  const script = `for (const host of ${JSON.stringify(hosts)})
    require('node:net').connect({ host, port: 8080, timeout: 5000 })
      .on('connect', () => { console.log('connected'); process.exit(); })
      .on('error', ({ code }) => console.log(code));`;
  const { stdout } = await execa('nsenter', ['-t', `${Pid}`, '-n', process.execPath, '-e', script]);
  return stdout.split('\n');
}
