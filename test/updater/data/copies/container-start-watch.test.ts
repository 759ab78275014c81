import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import {
  ContainerStartedError,
  ContainerStartWatch,
  RepeatedStartCounter,
} from '../../../../src/updater/data/copies/container-start-watch.ts';
import type { SavedMount } from '../../../../src/updater/data/restore-point.ts';
import { never } from '../../../build.ts';
import { engineThat, rememberingLog } from '../../../build-plan.ts';

const path = '/var/lib/docker/volumes/svc_data/_data';
const mount: SavedMount = {
  ...{ service: 'db', where: 'db:/data', volume: 'svc_data', path, subpath: '', isFile: false },
  ...{ root: '/', device: '8:1', excluded: [], bytes: 0, files: 0 },
};
const earlier = '2026-11-21T10:00:00Z';
const now = '2026-11-21T10:42:07Z';

interface Fake {
  project?: string;
  service?: string;
  isOneOff?: boolean;
  up?: boolean;
  startedAt?: string;
  /** Access to the mounted data. */
  mounts?: 'rw' | 'ro';
  image?: string;
}

/** A watch on an engine with these containers, by name. Tests change the containers and send start events. */
async function watched(containers: Record<string, Fake>) {
  let events: ServerResponse | null = null;
  const inspected: string[] = [];
  const labelsOf = ({ project = 'svc', service = '', isOneOff = false }: Fake) => ({
    ...(project && {
      [composeLabels.project]: project,
      [composeLabels.service]: service,
      [composeLabels.oneOff]: isOneOff ? 'True' : 'False',
    }),
  });
  const engine = await engineThat((from, to) => {
    const url = new URL(from.url ?? '', 'http://engine');
    if (url.pathname.endsWith('/events')) {
      to.writeHead(200).flushHeaders();
      events = to;
      return;
    }
    const name = /\/containers\/([^/]+)\/json/.exec(url.pathname)?.[1];
    if (name !== undefined) inspected.push(name);
    const filters = JSON.parse(url.searchParams.get('filters') ?? '{}');
    const found = name === undefined ? undefined : containers[name];
    if (name === undefined && url.pathname.includes('/containers/json')) {
      const listed = Object.entries(containers).filter(([, each]) =>
        filters.status ? each.up : each.project === undefined,
      );
      to.end(JSON.stringify(listed.map(([Id, each]) => ({ Id, Labels: labelsOf(each) }))));
    } else if (url.pathname.endsWith('/info')) to.end('{"DockerRootDir":"/var/lib/docker"}');
    else if (url.pathname.endsWith('/volumes')) to.end('{"Volumes":[{"Name":"svc_data"}]}');
    else if (name === undefined || found === undefined) to.writeHead(404).end('{"message":"none"}');
    else
      to.end(
        JSON.stringify({
          ...{ Id: name, Name: `/${name}`, Image: found.image ?? 'sha256:old' },
          State: { Status: found.up ? 'running' : 'exited', StartedAt: found.startedAt ?? earlier },
          Config: { Image: 'acme/svc:v1', Labels: labelsOf(found) },
          HostConfig: {},
          Mounts: found.mounts
            ? [
                {
                  ...{ Type: 'volume', Name: 'svc_data', Source: path, Driver: 'local' },
                  ...{ Destination: '/data', RW: found.mounts === 'rw' },
                },
              ]
            : [],
        }),
      );
  });
  const { log } = rememberingLog();
  const doors = { engine, log, project: 'svc', helperImageId: 'sha256:tools' };
  const watch = await ContainerStartWatch.open(doors, {
    project: { name: 'svc', directory: '/opt/svc' },
    covered: ['app', 'db'],
    mounts: [mount],
  });
  onTestFinished(() => watch.close());
  const report = async (name: string) => {
    await expect.poll(() => events).not.toBeNull();
    const attributes = { name, ...labelsOf(containers[name] ?? {}) };
    events?.write(`${JSON.stringify({ Action: 'start', Actor: { ID: name, Attributes: attributes } })}\n`);
  };
  const asked = (name: string) => inspected.filter((each) => each === name).length;
  return { watch, report, asked };
}

const stopped = (): Record<string, Fake> => ({
  app: { service: 'app' },
  db: { service: 'db', mounts: 'rw' },
  job: { service: 'job', up: true },
});

describe('StartWatch.started()', () => {
  it('reports no container while all covered services are stopped, even if unrelated containers run', async () => {
    const { watch } = await watched({
      ...stopped(),
      new: { service: 'app', startedAt: never },
      reader: { project: 'backup', up: true, mounts: 'ro' },
      other: { project: '', up: true },
      tools: { project: '', up: true, mounts: 'rw', image: 'sha256:tools' },
    });
    const work = new AbortController();
    await watch.begin(work);
    expect([await watch.listStartedContainers(), work.signal.aborted]).toEqual([[], false]);
  });

  it.each<[string, string, Fake, string]>([
    ['a covered container', 'db', { service: 'db', up: true, startedAt: now }, 'db'],
    ['a docker compose run', 'run', { service: 'app', isOneOff: true, up: true, startedAt: now }, ''],
    ['a writer of another project', 'tool', { project: 'x', up: true, mounts: 'rw', startedAt: now }, ''],
    ['a writer that is not covered', 'cron', { service: 'cron', up: true, mounts: 'rw' }, 'cron'],
  ])('reports %s even without an event', async (_, name, fake, service) => {
    const containers = stopped();
    const { watch } = await watched(containers);
    await watch.begin(new AbortController());
    containers[name] = fake;
    expect(await watch.listStartedContainers()).toEqual([{ id: name, name, service }]);
  });
});

describe('a start event', () => {
  it.each<[string, string, Fake]>([
    ['a covered service', 'db', { service: 'db' }],
    ['docker compose run', 'run', { service: 'app', isOneOff: true }],
    ['a writer of another project', 'tool', { project: 'x', up: true, mounts: 'rw' }],
  ])('of %s aborts the copy', async (_, name, fake) => {
    const containers = stopped();
    const { watch, report } = await watched(containers);
    const work = new AbortController();
    await watch.begin(work);
    containers[name] = fake;
    await report(name);
    await expect.poll(() => work.signal.aborted).toBe(true);
    expect(work.signal.reason).toBeInstanceOf(ContainerStartedError);
  });

  it('is reported even if its container is removed before the next inspection', async () => {
    const containers: Record<string, Fake> = { ...stopped(), run: { service: 'app', isOneOff: true } };
    const { watch, report } = await watched(containers);
    const work = new AbortController();
    await watch.begin(work);
    await report('run');
    await expect.poll(() => work.signal.aborted).toBe(true);
    delete containers.run;
    expect(await watch.listStartedContainers()).toEqual([{ id: 'run', name: 'run', service: '' }]);
  });

  it.each<[string, Fake]>([
    ['a service that is not covered', { service: 'job', up: true }],
    ['the tools container', { project: '', up: true, mounts: 'rw', image: 'sha256:tools' }],
    ['a container that only reads', { project: 'x', up: true, mounts: 'ro' }],
  ])('of %s does not abort the copy', async (_, fake) => {
    const containers: Record<string, Fake> = { ...stopped(), other: fake };
    const { watch, report, asked } = await watched(containers);
    const work = new AbortController();
    await watch.begin(work);
    const before = asked('other');
    await report('other');
    await expect.poll(() => asked('other')).toBe(before + 1);
    expect([await watch.listStartedContainers(), work.signal.aborted]).toEqual([[], false]);
  });
});

describe('RepeatedStarts', () => {
  const some = (...names: string[]) => names.map((name) => ({ id: name, name, service: 'app' }));

  it('reports a container that starts again right after it was stopped', () => {
    const starts = new RepeatedStartCounter(2, 10_000);
    starts.recordStops(some('app'));
    expect(starts.findRepeatedlyStarted(some('app', 'worker'))).toEqual(['app']);
  });

  it('reports a container that is started too often', () => {
    const starts = new RepeatedStartCounter(2);
    for (let round = 0; round < 2; round++) {
      expect(starts.findRepeatedlyStarted(some('app'))).toEqual([]);
      starts.recordStops(some('app'));
    }
    expect(starts.findRepeatedlyStarted(some('app'))).toEqual(['app']);
  });

  it('reports containers whose names always differ after too many starts', () => {
    const starts = new RepeatedStartCounter(2);
    for (let round = 0; round < 10; round++) starts.recordStops(some(`app-run-${round}`));
    expect(starts.findRepeatedlyStarted(some('app-run-10'))).toEqual(['app-run-10']);
  });
});
