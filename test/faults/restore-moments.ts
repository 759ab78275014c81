import { setTimeout as sleep } from 'node:timers/promises';
import { askEngine, type ContainerInspection } from '../rig/engine-api.ts';
import { type Moment, onFileChange, onLine, watchEvents } from './kill.ts';

/** The k-th start of the helper container with this command; for the second copy, after all services have stopped. */
export function onTools(verb: 'look' | 'warm' | 'cold' | 'hash' | 'restore' | 'ports', k = 1): Moment {
  const name = `at the start of ${verb}${k > 1 ? ` ${k}` : ''}`;
  return {
    name,
    watch: ({ project }, now) => {
      let count = 0;
      const heard = async (id: string) => {
        const { status, body } = await askEngine('GET', `/containers/${id}/json`);
        if (status !== 200) return;
        const { Config } = JSON.parse(body) as ContainerInspection;
        if (!isToolsOf(project, Config.Labels) || Config.Cmd?.[0] !== verb || ++count !== k) return;
        // Its container is started while services are still stopping.
        if (verb === 'cold') await untilStopped(project);
        now(name);
      };
      // Helper containers of a rollback have the label of their restore point.
      const filters = { event: ['start'] };
      return watchEvents(filters, ({ Actor }) => void heard(Actor.ID).catch(() => {}));
    },
  };
}

/** Whether a container copies or restores data of the project. */
export const isToolsOf = (project: string, labels: ContainerInspection['Config']['Labels'] | null): boolean =>
  labels?.['svc-updater.scratch'] === project ||
  ('svc-updater.prepared' in (labels ?? {}) &&
    labels?.['svc-updater.restore-point']?.startsWith(`${project}/`) === true);

/** Waits until app, worker and database of the project have stopped. */
async function untilStopped(project: string): Promise<void> {
  const filters = { label: [`com.docker.compose.project=${project}`] };
  const path = `/containers/json?filters=${encodeURIComponent(JSON.stringify(filters))}`;
  for (;;) {
    const { body } = await askEngine('GET', path);
    const running = (JSON.parse(body) as { Labels: Record<string, string> }[]).map(
      ({ Labels }) => Labels['com.docker.compose.service'] ?? '',
    );
    if (!running.some((service) => ['app', 'worker', 'db'].includes(service))) return;
    await sleep(5);
  }
}

/** All steps of an update that is rolled back, in order. */
export const updateSteps: readonly Moment[] = [
  onLine(/copying the data \(/),
  onTools('warm'),
  onLine(/; only changes made since then remain/),
  onLine(/then copying the changes/),
  onTools('cold'),
  onLine(/-db-1 is starting/),
  onTools('hash'),
  onLine(/has been unavailable for/),
  onLine('write'),
  onFileChange(/^\.\.env\.svc-updater-/),
  onLine('recreate'),
  onLine('verify'),
  onLine(/; rolling back to /),
  onLine(/restoring the data of /),
  onTools('restore'),
  onLine(/the data is identical to the restore point/),
];

/** All steps of a rollback by command, in order. */
export const rollbackSteps: readonly Moment[] = [
  onLine(/copying the data \(/),
  onLine(/then copying the changes/),
  onTools('cold'),
  onLine(/for manual recovery/),
  onLine(/restoring the data of /),
  onTools('restore'),
  onLine(/the data is identical to the restore point/),
];
