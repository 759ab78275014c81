import { request } from 'node:http';
import { execa } from 'execa';
import { type ContainerInspection, engineSocket, findContainers } from '../../rig/engine-api.ts';
import type { Instance } from './instance.ts';

const prefix = 'com.docker.compose.';

/**
 * Makes an instance that was started with `--compatibility` anew as docker-compose 1.29.2 makes it (read off its own): a
 * network and a volume without a hash, and labels with paths as they were typed.
 */
export async function remakeByOne(instance: Instance, configFiles: string): Promise<void> {
  const { project, directory } = instance;
  await instance.compose('down', '--volumes');
  for (const [kind, key] of Object.entries({ network: 'internal', volume: 'db' })) {
    const labels = labelFlags({ [kind]: key, project, version: '1.29.2' });
    await execa('docker', [kind, 'create', ...labels, `${project}_${key}`]);
  }
  await instance.compose('up', '-d');
  for (const found of await findContainers(project))
    await relabel(found, { project, directory, configFiles });
  await instance.waitUntilHealthy();
}

const labelFlags = (labels: Record<string, string>): string[] =>
  Object.entries(labels).flatMap(([key, value]) => ['--label', `${prefix}${key}=${value}`]);

interface ByOne {
  project: string;
  directory: string;
  configFiles: string;
}

async function relabel(
  found: ContainerInspection,
  { project, directory, configFiles }: ByOne,
): Promise<void> {
  const { Hostname, Labels, ...config } = found.Config as ContainerInspection['Config'] & {
    Hostname: string;
  };
  const service = Labels[`${prefix}service`] ?? '';
  const own = {
    'config-hash': '1'.repeat(64),
    'container-number': '1',
    oneoff: 'False',
    project,
    'project.config_files': configFiles,
    'project.working_dir': directory,
    service,
    version: '1.29.2',
  };
  const others = Object.entries(Labels).filter(([key]) => !key.startsWith(prefix));
  const labels = Object.entries(own).map(([key, value]) => [`${prefix}${key}`, value]);
  const name = found.Name.slice(1);
  await execa('docker', ['rm', '--force', name]);
  await post(`/containers/create?name=${name}`, {
    ...config,
    Labels: Object.fromEntries([...others, ...labels]),
    HostConfig: found.HostConfig,
    NetworkingConfig: {
      EndpointsConfig: { [`${project}_internal`]: { Aliases: [service], IPAMConfig: {} } },
    },
  });
  await execa('docker', ['start', name]);
}

function post(path: string, body: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json' };
    const asked = request({ socketPath: engineSocket, method: 'POST', path, headers }, (answer) => {
      answer.resume();
      if (answer.statusCode === 201) answer.on('end', () => resolve());
      else reject(new Error(`POST ${path} is answered with ${answer.statusCode}`));
    });
    asked.on('error', reject);
    asked.end(JSON.stringify(body));
  });
}
