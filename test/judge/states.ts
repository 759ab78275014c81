import type { ContainerState, FileState } from '../rig/snapshot.ts';
import { changeFiles } from './files.ts';
import type { Look } from './look.ts';

// An instance at v1.0.0 and after a good update to v1.1.0, for the tests of the judge.

export const repository = '127.0.0.1:5000/x/svc';

export const container = (service: string, changes: Partial<ContainerState> = {}): ContainerState => ({
  id: `${service}-old`,
  service,
  image: 'sha256:old',
  reference: `${repository}:v1.0.0`,
  startedAt: '10:00',
  status: 'running',
  health: 'healthy',
  restarts: 0,
  volumes: {},
  ...changes,
});

export const file = (text: string, changes: Partial<FileState> = {}): FileState => ({
  kind: 'file',
  mode: '640',
  owner: '0:0',
  text,
  ...changes,
});

export const before: Look = {
  version: 'v1.0.0',
  workerVersion: 'v1.0.0',
  kept: { onDisk: 'kept', served: 'kept' },
  containers: {
    'x-app-1': container('app', { volumes: { '/cache': 'old' } }),
    'x-worker-1': container('worker'),
    'x-db-1': container('db', { image: 'sha256:db', health: undefined }),
  },
  strays: [],
  files: { '.env': file('SVC_VERSION=v1.0.0\n'), 'compose.yaml': file('services: {}\n') },
  tags: { [`${repository}:v1.0.0`]: 'sha256:old', [`${repository}:canary`]: 'sha256:old' },
  boots: ['app v1.0.0', 'worker v1.0.0'],
  leftovers: [],
};

export const bumped = { '.env': 'SVC_VERSION=v1.1.0\n' };

const fresh = (service: string): Partial<ContainerState> => ({
  id: `${service}-new`,
  startedAt: '11:00',
  image: 'sha256:new',
  reference: `${repository}:v1.1.0`,
});

export const after: Look = {
  ...withContainers(before, { 'x-app-1': fresh('app'), 'x-worker-1': fresh('worker') }),
  version: 'v1.1.0',
  workerVersion: 'v1.1.0',
  files: changeFiles(before.files, bumped),
  tags: { ...before.tags, [`${repository}:v1.1.0`]: 'sha256:new' },
  boots: [...before.boots, 'app v1.1.0', 'worker v1.1.0'],
};

/** The same with changes to some of its containers; null for one that is gone. */
export function withContainers(look: Look, changes: Record<string, Partial<ContainerState> | null>): Look {
  const containers = { ...look.containers };
  for (const [name, change] of Object.entries(changes)) {
    if (change === null) delete containers[name];
    else containers[name] = { ...(containers[name] ?? container('app')), ...change };
  }
  return { ...look, containers };
}

/** These starts and no others since before. */
export const booted = (look: Look, ...boots: string[]): Look => ({
  ...look,
  boots: [...before.boots, ...boots],
});
