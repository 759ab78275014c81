import { describe, expect, it } from 'vitest';
import { separateLeftoverContainers } from '../../../../src/engine/containers/project-containers.ts';
import type { Container } from '../../../../src/engine/objects/container.ts';
import { findStoppingContainers } from '../../../../src/updater/compose/rollback/list-restore-steps.ts';
import { changeover, container, movedService, record } from '../../../build.ts';

const app = container('app-1', { id: '0123456789abcdef' });
const app2 = container('app-2');
const worker = container('worker-1');
const sidecar = container('sidecar-1');
const made = container('app-1', { id: 'made', status: 'created', name: '0123456789ab_svc-app-1' });
const moved = [movedService('app'), movedService('worker'), movedService('sidecar', { follows: true })];

function stopping(before: Container[], now: Container[], wasKilled = false): string[] {
  const plan = changeover({ moved, containers: before.map((each) => record(each)) });
  return findStoppingContainers(plan, separateLeftoverContainers(now), { wasKilled }).map(({ id }) => id);
}

describe('running containers that may be stopping', () => {
  const all = [app, worker, sidecar];

  it('are the workers, which are stopped first, but not an unchanged app', () => {
    expect(stopping(all, all)).toEqual([worker.id]);
    expect(stopping(all, [app, { ...worker, status: 'exited' }, sidecar])).toEqual([]);
    expect(stopping(all, [app, { ...worker, status: 'paused' }, sidecar])).toEqual([]);
  });

  it('are the containers of a service that compose has started to replace', () => {
    expect(stopping(all, [app, made, sidecar])).toEqual([app.id]);
    expect(stopping([app, app2], [{ ...app, status: 'exited' }, app2])).toEqual([app2.id]);
    expect(stopping([app, app2], [app2])).toEqual([app2.id]);
    // The app was stopped before the update.
    const down: Container = { ...app, status: 'exited' };
    expect(stopping([down, app2], [down, app2])).toEqual([]);
  });

  it('are the containers whose stop the engine has reported', () => {
    const plan = changeover({ moved, containers: all.map((each) => record(each)) });
    expect(
      findStoppingContainers(plan, separateLeftoverContainers([app, sidecar]), { stopping: [app.id] }),
    ).toEqual([app]);
  });

  it('are all containers after a run was killed', () => {
    expect(stopping(all, all, true)).toEqual([app.id, worker.id, sidecar.id]);
  });
});
