// Situations that a server finds when it starts: open runs of a previous server, and running updaters.

import type { MountSpec } from '../../../src/engine/api-objects.ts';
import { createRun } from '../../../src/server/run/run-record.ts';
import type { OpenRun } from '../../../src/server/store/stored-entries.ts';
import type { ContainerDouble } from '../../rig/engine-double/container-double.ts';
import { lineOf, workOf } from '../../rig/engine-double/script.ts';
import { rig } from './rig.ts';

export const id = '11111111-2222-4333-8444-555555555555';
const gone = { container: 'a'.repeat(64), word: 'of a boot before' };

/** Stores an open run of a previous server. */
export function leaveOpen(more: Partial<OpenRun> = {}): void {
  const origin = { id, from: 'v1.4.2', to: 'v1.5.0', startedAt: '2026-11-21T10:42:07.000Z', by: 'anna' };
  const run = createRun(origin);
  const prepared = { state: 'preparing', startedAt: origin.startedAt, endedAt: origin.startedAt } as const;
  const open = {
    run: { ...run, steps: [{ ...prepared, message: 'dumped' }, ...run.steps] },
    server: gone,
    updater: null,
    serverStoppedAt: null,
    ...more,
  };
  rig.state.store.set('run', JSON.stringify(open satisfies OpenRun));
  rig.state.isHeld = true;
}

const mounts: MountSpec[] = [{ Type: 'bind', Source: '/srv/svc', Target: '/srv/svc', ReadOnly: false }];

/** Creates an updater that belongs to this instance by its mounts; `run` is null if it was started manually. */
export function updater(run: string | null = id, Mounts = mounts): ContainerDouble {
  return rig.engine.create({
    name: 'svc-updater',
    Image: 'acme/svc-updater:1',
    Cmd: ['update', '--target', 'v1.5.0'],
    Labels: {
      'svc-updater.project': 'svc',
      'svc-updater.directory': '/srv/svc',
      ...(run === null ? {} : { 'svc-updater.run': run, 'svc-updater.to': 'v1.5.0' }),
    },
    HostConfig: {
      Mounts,
      RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 },
    },
  });
}

/** Starts an updater that is working until the test ends it. */
export function atWork(run: string | null = id): ContainerDouble {
  rig.state.isHeld = true;
  rig.engine.updaterDoes(workOf('v1.4.2', 'v1.5.0'));
  const container = updater(run);
  container.start();
  return container;
}

export const endGood = (container: ContainerDouble) => {
  container.say(lineOf({ phase: 'done', message: 'updated v1.4.2 → v1.5.0 in 4 s' }));
  container.exit(0);
};
