import { expect, it, vi } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import { startDataServices } from '../../../../src/updater/compose/data-services/start-data-services.ts';
import {
  type JournaledRestorePoint,
  listContainersInStopOrder,
  stopContainerGroups,
} from '../../../../src/updater/compose/data-services/stop-data-services.ts';
import { Journal } from '../../../../src/updater/run/state/journal.ts';
import { changeover, container, journalData, project, record } from '../../../build.ts';
import { engineThat, rememberingLog, runContext } from '../../../build-plan.ts';

const labelsOf = (service: string) => ({
  [composeLabels.project]: project.name,
  [composeLabels.service]: service,
  [composeLabels.number]: '1',
  [composeLabels.oneOff]: 'False',
});

/** An engine with running containers of these services, and the exit codes that they have after a stop. */
async function running(services: readonly string[], exitCodes: Readonly<Record<string, number>> = {}) {
  const asked: string[] = [];
  const engine = await engineThat((from, to) => {
    const url = from.url ?? '';
    const [, id = ''] = /\/containers\/([a-z]+)-1\//.exec(url) ?? [];
    if (from.method === 'POST') {
      asked.push(url.replace(/^.*\/containers\//, ''));
      to.writeHead(204).end();
    } else if (id === '') {
      to.end(JSON.stringify(services.map((each) => ({ Id: `${each}-1`, Labels: labelsOf(each) }))));
    } else {
      const last = asked.findLast((each) => each.startsWith(`${id}-1/`));
      const hasEnded = last?.includes('/stop') ?? false;
      const State = hasEnded ? { Status: 'exited', ExitCode: exitCodes[id] ?? 0 } : { Status: 'running' };
      to.end(
        JSON.stringify({ Id: `${id}-1`, Name: `/svc-${id}-1`, State, Config: { Labels: labelsOf(id) } }),
      );
    }
  });
  return { engine, log: rememberingLog().log, asked };
}

/** The restore point of a run that saves data; cache depends on db. */
const savingPoint: JournaledRestorePoint = {
  ...{ directory: '/opt/svc/.svc-updater/restore/20261121T104207Z', state: 'saving', inMemory: [] },
  ...{ services: ['db', 'cache'], riders: [], ports: [], policies: [] },
};
const saving = journalData({ point: savingPoint });

const journalOf = (changes: Partial<typeof saving>) =>
  new Journal({ state: '/nonexistent', restore: async () => {} }, { ...saving, ...changes });

const volume = {
  ...{ type: 'volume', source: 'data', destination: '/data', writable: true },
  ...{ path: '/var/lib/docker/volumes/data/_data', subpath: '', driver: 'local' },
};
const groupsOf = (...containers: Container[]) => containers.map((each) => [each]);

it('lists workers, the app, then data services, each service before its dependencies', async () => {
  const { engine } = await running(['app', 'cache', 'db', 'proxy', 'worker']);
  const groups = await listContainersInStopOrder(engine, { ...saving, changeover: changeover() });
  expect(groups.map((group) => group.map(({ id }) => id))).toEqual([
    ['worker-1'],
    ['app-1'],
    ['cache-1'],
    ['db-1'],
  ]);
});

it('gives a container with mounts at least one minute to stop', async () => {
  const { engine, log, asked } = await running(['app', 'db', 'worker']);
  const groups = groupsOf(
    container('app-1', { stopTimeout: 10, storage: [volume] }),
    container('worker-1', { stopTimeout: 10, storage: [] }),
    container('db-1', { stopTimeout: 90, storage: [volume] }),
  );
  expect(await stopContainerGroups({ engine, log }, groups)).toEqual([]);
  expect(asked).toEqual(['app-1/stop?t=60', 'worker-1/stop', 'db-1/stop']);
});

it('returns the containers that had to be killed', async () => {
  const { engine, log } = await running(['app', 'db'], { app: 143, db: 137 });
  expect(await stopContainerGroups({ engine, log }, groupsOf(container('app-1'), container('db-1')))).toEqual(
    ['svc-db-1'],
  );
});

it('restarts data services that were running, dependencies first', async () => {
  const { engine, log, asked } = await running(['app', 'cache', 'db']);
  const containers = [container('app-1'), container('cache-1'), container('db-1')];
  await stopContainerGroups({ engine, log }, [containers]);
  const stops = asked.length;
  await startDataServices({
    ...runContext(engine).context,
    journal: journalOf({ changeover: changeover({ containers: containers.map((each) => record(each)) }) }),
  });
  expect(asked.slice(stops)).toEqual(['db-1/start', 'cache-1/start']);
});

it('pauses between two helper containers while a data service is not listening yet', async () => {
  const events: string[] = [];
  const engine = await engineThat((from, to) => {
    const url = from.url ?? '';
    const count = events.filter((each) => each === 'helper').length;
    if (url.includes('/containers/create')) events.push('helper');
    if (url.includes('/containers/create') || from.method === 'POST')
      to.writeHead(from.method === 'POST' && url.includes('/start') ? 204 : 400).end('{}');
    else if (url.includes('/c0ffee/')) to.end('{"Id":"c0ffee","State":{"Status":"running"}}');
    else if (url.includes('/db-1/') && count < 3)
      to.end(
        JSON.stringify({ Id: 'db-1', State: { Status: 'running' }, Config: { Labels: labelsOf('db') } }),
      );
    else if (url.includes('/db-1/')) to.writeHead(404).end('{"message":"no such container"}');
    else to.end(JSON.stringify(url.includes('project') ? [{ Id: 'db-1', Labels: labelsOf('db') }] : []));
  });
  const wait = globalThis.setTimeout;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
    if (ms === 1_000) events.push('pause');
    return wait(work, ms === 1_000 ? 0 : ms);
  }) as typeof setTimeout);
  const point = { ...savingPoint, services: ['db'], ports: [{ service: 'db', ports: [5432] }] };
  const starting = startDataServices({
    ...runContext(engine).context,
    journal: journalOf({ point, changeover: changeover({ containers: [record(container('db-1'))] }) }),
  });
  await expect(starting).rejects.toThrow('svc-db-1 was removed');
  expect(events).toEqual(['helper', 'pause', 'helper', 'pause', 'helper']);
});
