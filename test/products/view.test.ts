import { expect, it } from 'vitest';
import { judgeMoved, judgeSame, type View } from './view.ts';

const container = (service: string, changes: Partial<View['containers'][string]> = {}) => ({
  id: `${service} of before`,
  service,
  image: 'sha256:old',
  reference: 'acme/photos:1.0.0',
  startedAt: 'before',
  status: 'running',
  health: undefined,
  mounts: [`${service}-data:/data`],
  ...changes,
});
const file = (text: string) => ({ kind: 'file' as const, mode: '644', owner: '0:0', text });

const before: View = {
  version: '1.0.0',
  containers: { 'p-server-1': container('server'), 'p-db-1': container('db', { image: 'sha256:db' }) },
  networks: { p_default: 'n1' },
  volumes: { 'p_db-data': '2026' },
  files: { 'compose.yaml': file('image: 1.0.0\n') },
  tags: { 'acme/photos:latest': 'sha256:old' },
};
const moved = container('server', { id: 'new', image: 'sha256:new', startedAt: 'now' });
const after: View = {
  ...before,
  version: '1.1.0',
  containers: { ...before.containers, 'p-server-1': moved },
  files: { 'compose.yaml': file('image: 1.1.0\n') },
};
const db = (changes: Partial<View['containers'][string]>) => ({
  containers: { ...after.containers, 'p-db-1': container('db', { image: 'sha256:db', ...changes }) },
});
const server = (changes: Partial<View['containers'][string]>) => ({
  containers: { ...after.containers, 'p-server-1': { ...moved, ...changes } },
});
const expected = {
  version: '1.1.0',
  services: ['server'],
  files: { 'compose.yaml': 'image: 1.1.0\n' },
  well: true,
};

it('finds nothing where all is as it must be', () => {
  expect(judgeMoved(before, after, expected)).toEqual([]);
  expect(judgeSame(before, before)).toEqual([]);
});

it.each<[string, Partial<View>, RegExp]>([
  ['the app answers the old version', { version: '1.0.0' }, /^the version that answers: /],
  ['the database was made anew', db({ id: 'new' }), /^other containers: /],
  ['the database was restarted', db({ startedAt: 'now' }), /^other containers: /],
  ['the database is gone', { containers: { 'p-server-1': moved } }, /^names of containers: /],
  ['the app was not moved', server({ id: 'server of before' }), /was not moved/],
  ['the app runs the old image', server({ image: 'sha256:old' }), /was not moved/],
  ['the app lost its data', server({ mounts: [] }), /^mounts of p-server-1: /],
  ['the app is down', server({ status: 'exited' }), /is exited$/],
  ['the app is unhealthy', server({ health: 'unhealthy' }), /is unhealthy$/],
  ['a network is another', { networks: { p_default: 'n2' } }, /^networks: /],
  ['a volume is another', { volumes: { 'p_db-data': '2027' } }, /^volumes: /],
  ['a file has another byte', { files: { 'compose.yaml': file('image:  1.1.0\n') } }, /^files: /],
  [
    'a file has another mode',
    { files: { 'compose.yaml': { ...file('image: 1.1.0\n'), mode: '600' } } },
    /^files: /,
  ],
  ['a file was left behind', { files: { ...after.files, 'x.tmp': file('') } }, /^files: /],
])('finds that %s', (_, changes, fact) => {
  expect(judgeMoved(before, { ...after, ...changes }, expected)).toEqual(
    expect.arrayContaining([expect.stringMatching(fact)]),
  );
});

it.each<[string, Partial<View>]>([
  ['a container', { containers: after.containers }],
  ['a file', { files: after.files }],
  ['a tag', { tags: { 'acme/photos:latest': 'sha256:new' } }],
  ['the version', { version: null }],
])('finds that %s is not the same', (_, changes) => {
  expect(judgeSame(before, { ...before, ...changes })).toHaveLength(1);
});
