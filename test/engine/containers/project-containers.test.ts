import { expect, it } from 'vitest';
import {
  findServicesWithUnderscoreNames,
  listProjectContainers,
  separateLeftoverContainers,
} from '../../../src/engine/containers/project-containers.ts';
import { composeLabels } from '../../../src/engine/objects/labels.ts';
import { container } from '../../build.ts';
import { engineThat } from '../http-engine.ts';

const { project, service, number, oneOff, hook } = composeLabels;
const own = { [project]: 'svc', [service]: 'app' };
const listed: Record<string, Record<string, string>> = {
  'svc-app-2': { ...own, [number]: '2', [oneOff]: 'False' },
  'svc-app-1': { ...own, [number]: '1', [oneOff]: 'False' },
  'svc-app-run-1a2b': { ...own, [oneOff]: 'True' },
  // Compose 5.3 and later; these keep the container of a failed hook.
  'svc-app-hook': { ...own },
  'svc-app-hook-0': { ...own, [number]: '1', [oneOff]: 'False', [hook]: 'pre_start' },
};

it('listProjectContainers lists only the containers of services, sorted by number', async () => {
  const engine = await engineThat((from, to) => {
    const name = /^\/containers\/([^/]+)\/json$/.exec((from.url ?? '').replace(/\?.*/, ''))?.[1];
    if (name === undefined) {
      to.end(JSON.stringify(Object.entries(listed).map(([Id, Labels]) => ({ Id, Labels }))));
    } else
      to.end(JSON.stringify({ Id: name, Name: `/${name}`, Config: { Labels: listed[name] }, State: {} }));
  });
  const { containers, leftovers } = await listProjectContainers(engine, 'svc');
  expect(containers.map(({ name }) => name)).toEqual(['svc-app-1', 'svc-app-2']);
  expect(leftovers).toEqual([]);
});

it('listProjectContainers inspects only updated and changed containers again', async () => {
  const inspected: string[] = [];
  const raw = (id: string, of: string, status = 'running') => ({
    ...{ Id: id, Names: [`/${id}`], State: status },
    Labels: { [project]: 'svc', [service]: of, [number]: '1', [oneOff]: 'False' },
  });
  const list = [raw('app-1', 'app'), raw('db-1', 'db'), raw('proxy-1', 'proxy'), raw('new-1', 'new')];
  const engine = await engineThat((from, to) => {
    const { pathname, searchParams } = new URL(from.url ?? '', 'http://engine');
    const id = /^\/containers\/([^/]+)\/json$/.exec(pathname)?.[1];
    if (id !== undefined) inspected.push(id);
    const wanted = /service=(\w+)/.exec(searchParams.get('filters') ?? '')?.[1];
    const matching = list.filter(({ Labels }) => wanted === undefined || Labels[service] === wanted);
    const [one] = list.filter(({ Id }) => Id === id);
    const whole = one && {
      Id: id,
      Name: `/${id}`,
      Config: { Labels: one.Labels },
      State: { Status: 'running' },
    };
    to.end(JSON.stringify(whole ?? matching));
  });
  const labels = (of: string) => raw('', of).Labels;
  const containers = [
    container('app-1', { id: 'app-1', name: 'app-1', labels: labels('app') }),
    container('db-1', { id: 'db-1', name: 'db-1', labels: labels('db') }),
    container('proxy-1', { id: 'proxy-1', name: 'proxy-1', labels: labels('proxy'), status: 'exited' }),
    container('gone-1', { id: 'gone-1', name: 'gone-1', labels: labels('gone') }),
  ];
  const found = await listProjectContainers(engine, 'svc', { containers, services: new Set(['app']) });
  expect(inspected.sort()).toEqual(['app-1', 'new-1', 'proxy-1']);
  expect(found.containers.map(({ id }) => id).sort()).toEqual(['app-1', 'db-1', 'new-1', 'proxy-1']);
  expect(found.containers.find(({ id }) => id === 'db-1')).toBe(containers[1]);
  inspected.length = 0;
  const services = new Set(['app', 'new']);
  const partial = await listProjectContainers(engine, 'svc', {
    containers,
    services,
    listsOnlyServices: true,
  });
  expect(inspected.sort()).toEqual(['app-1', 'new-1']);
  expect(partial.containers.map(({ id }) => id).sort()).toEqual([
    ...['app-1', 'db-1', 'gone-1', 'new-1', 'proxy-1'],
  ]);
  const many = new Set(['app', ...'abcdefgh']);
  const whole = await listProjectContainers(engine, 'svc', {
    containers,
    services: many,
    listsOnlyServices: true,
  });
  expect(whole).toEqual(found);
});

it('separateLeftovers treats a temporary container as a leftover if another container has its number', () => {
  const old = container('app-1', { id: '0123456789abcdef' });
  const other = container('app-1', { id: 'another' });
  const made = container('app-1', { id: 'made', status: 'created', name: '0123456789ab_svc-app-1' });
  const sorted = (...all: (typeof old)[]) => {
    const { containers, leftovers } = separateLeftoverContainers(all);
    return [containers, leftovers].map((list) => list.map(({ id }) => id));
  };
  expect(sorted(old, made)).toEqual([[old.id], ['made']]);
  expect(sorted(other, made)).toEqual([['another'], ['made']]);
  expect(sorted(made)).toEqual([['made'], []]);
  expect(sorted(container('app-2', { id: 'second' }), made)).toEqual([['made', 'second'], []]);
  expect(sorted(other, { ...made, status: 'running' })[1]).toEqual([]);
});

const called = (place: string, name: string) => {
  const made = container(place);
  return { ...made, name, labels: { ...made.labels, [project]: 'my_svc' } };
};

it.each<[string, Record<string, string>, string[]]>([
  ["today's", { 'app-1': 'my_svc-app-1', 'worker-1': 'my_svc-worker-1' }, []],
  ['old', { 'app-1': 'my_svc_app_1', 'worker-1': 'my_svc_worker_1' }, ['app', 'worker']],
  ['each its own', { 'app-1': 'my_svc-app-1', 'db-1': 'my_svc_db_1' }, ['db']],
  ['one of its own beside old ones', { 'app-1': 'my-app', 'db-1': 'my_svc_db_1' }, ['app', 'db']],
  ["one of its own beside today's", { 'app-1': 'my_app', 'db-1': 'my_svc-db-1' }, []],
  ['not yet given', { 'app-1': '0123456789ab_my_svc_app_1' }, ['app']],
])('findServicesWithUnderscoreNames checks names that are %s', (_, names, expected) => {
  expect(
    findServicesWithUnderscoreNames(Object.entries(names).map(([place, name]) => called(place, name))),
  ).toEqual(expected);
});
