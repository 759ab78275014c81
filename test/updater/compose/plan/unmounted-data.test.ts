import { expect, it } from 'vitest';
import type { ComposeModel, ComposeMount, ComposeService } from '../../../../src/engine/cli/compose.ts';
import type { Container, Image, StorageMount } from '../../../../src/engine/objects/container.ts';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import {
  describeUnmountedData,
  findUnmountedData,
  formatMountLines,
  type UnmountedData,
} from '../../../../src/updater/compose/plan/unmounted-data.ts';
import { container, image } from '../../../build.ts';
import { at, composeText, installed, planTo, preparedPlan } from '../../../build-plan.ts';

const v = '0f'.repeat(32);
const w = 'a1'.repeat(32);

/** `V:/data` is an unnamed volume, `name:/data` a named one, `/srv/x:/data` a bind; `:ro` means read-only. */
function mountOf(text: string): StorageMount {
  const [name = '', destination = '', mode] = text.split(':');
  const type = name.startsWith('/') ? 'bind' : name === '' ? 'tmpfs' : 'volume';
  const source = { V: v, W: w }[name] ?? (type === 'volume' ? `svc_${name}` : name);
  const path = type === 'volume' ? `/volumes/${source}` : name;
  return { type, source, destination, writable: mode !== 'ro', path, subpath: '', driver: '' };
}

/** A service with mounts in this notation; `:/data` is an unnamed volume, `tmpfs:/data` a tmpfs. */
function serviceOf(text: string): ComposeService {
  const entries = text.split(' ').filter(Boolean);
  const volumes = entries
    .filter((entry) => !entry.startsWith('tmpfs:'))
    .map((entry): ComposeMount => {
      const [source = '', target = ''] = entry.split(':');
      return { type: source.startsWith('/') ? 'bind' : 'volume', source, target };
    });
  return { volumes, tmpfs: entries.flatMap((entry) => (entry.startsWith('tmpfs:') ? [entry.slice(6)] : [])) };
}

const declaring = (id: string, paths: string): Image =>
  image(id, {
    config: {
      Volumes: Object.fromEntries(
        paths
          .split(' ')
          .filter(Boolean)
          .map((path) => [path, {}]),
      ),
    },
  });
const holder = (text: string): Container => {
  const storage = text.split(' ').filter(Boolean).map(mountOf);
  return container('app-1', { storage, mounts: storage });
};

interface Case {
  /** Mounts of the old container. */
  has: string;
  /** Volumes that the old and the new image declare. Without `old`, the old image no longer exists. */
  old?: string;
  next?: string;
  /** Mounts of the service in the new files. */
  file?: string;
  /** Mounts of the container in `volumes_from`. */
  from?: string;
}

const model = (file = '', from = ''): ComposeModel => ({
  name: 'svc',
  services: { app: { ...serviceOf(file), volumes_from: [from === '' ? 'other' : 'container:donor:ro'] } },
  volumes: { db: { name: 'svc_db' }, keep: { name: v } },
});

function find({ has, old, next = '', file, from = '' }: Case): UnmountedData[] {
  const own = installed(
    { 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0' }) },
    {
      services: { app: [holder(has)] },
      outsideContainers: [
        container('donor-1', { ...holder(from), name: 'donor' }),
        // A service of another project that has the same name as the one in `volumes_from`.
        { ...holder('V:/notes'), name: 'x', labels: { [composeLabels.service]: 'other' } },
      ],
      imagesInUse: new Map(old === undefined ? [] : [['sha256:old', declaring('sha256:old', old)]]),
    },
  );
  const plan = preparedPlan(planTo('v1.1.0', own), { model: model(file, from) });
  return findUnmountedData(plan, 'app', declaring('sha256:new', next));
}

/** `/notes -`: the volume is no longer mounted. `/notes + /data`: a new volume is mounted at /data. Or both. */
const found = (given: Case): string =>
  find(given)
    .map(({ mount, isDetached, newPaths }) =>
      [mount.destination, ...(isDetached ? ['-'] : []), ...newPaths.map((path) => `+ ${path}`)].join(' '),
    )
    .join(', ');

it.each<[what: string, given: Case, expected: string]>([
  [
    'another path',
    { has: 'V:/notes/data', old: '/notes/data', next: '/var/lib/notes' },
    '/notes/data - + /var/lib/notes',
  ],
  ['no path any more', { has: 'V:/notes', old: '/notes' }, '/notes -'],
  ['the parent', { has: 'V:/notes/data', old: '/notes/data', next: '/notes' }, '/notes/data - + /notes'],
  [
    'a directory in it',
    { has: 'V:/notes', old: '/notes', next: '/notes /notes/data' },
    '/notes + /notes/data',
  ],
  [
    'the parent of a named volume',
    { has: 'db:/notes/data', file: 'db:/notes/data', next: '/notes/' },
    '/notes/data + /notes',
  ],
  [
    'a directory in a bind',
    { has: '/srv/n:/notes', file: '/srv/n:/notes', next: '/notes/a' },
    '/notes + /notes/a',
  ],
  [
    'the place of a bind that is no longer in the file',
    { has: '/srv/n:/notes', next: '/notes' },
    '/notes + /notes',
  ],
  [
    'a path that compose does not recognize',
    { has: 'V:/notes', old: '/notes/', next: '/notes/' },
    '/notes -',
  ],
  ['another path beside one that both have', { has: 'V:/a W:/b', old: '/a /b', next: '/a /c' }, '/b - + /c'],
  [
    'a path at which the files mount another volume',
    { has: 'V:/notes', old: '/notes', next: '/notes', file: 'db:/notes' },
    '/notes -',
  ],
  ['the path of a container whose image is gone', { has: 'V:/notes', next: '/data' }, '/notes - + /data'],
])('data is left unmounted by an image that declares %s', (_, given, expected) =>
  expect(found(given)).toBe(expected),
);

it.each<[what: string, given: Case]>([
  ['both declare the path', { has: 'V:/notes', old: '/notes', next: '/notes' }],
  ['both declare it, and the old image is gone', { has: 'V:/notes', next: '/notes' }],
  ['both declare it, and the file no longer mounts it', { has: 'db:/notes', old: '/notes', next: '/notes' }],
  ['only the old one has a slash at its end', { has: 'V:/notes', old: '/notes/', next: '/notes' }],
  [
    'both declare the parent',
    { has: 'db:/notes/a V:/notes', file: 'db:/notes/a', old: '/notes', next: '/notes' },
  ],
  ['both declare the path and the new one its parent', { has: 'V:/n/a', old: '/n/a', next: '/n /n/a' }],
  ['the new path is elsewhere', { has: 'db:/notes', file: 'db:/notes', next: '/cache' }],
  ['a path only begins with the same letters', { has: 'db:/notes', file: 'db:/notes', next: '/notes2' }],
  ['the file mounts the new path', { has: 'db:/n/a', file: 'db:/n/a db:/n/', next: '/n' }],
  ['the file has memory at the new path', { has: 'db:/n/a', file: 'db:/n/a tmpfs:/n:size=1m', next: '/n' }],
  ['the file mounts the volume elsewhere', { has: 'V:/notes', old: '/notes', file: 'keep:/data' }],
  ['the file has an unnamed volume there', { has: 'V:/notes', file: ':/notes' }],
  ['the volume is of another container', { has: 'V:/notes', from: 'V:/notes' }],
  [
    'another container has a mount at the new path',
    { has: 'db:/n/a', file: 'db:/n/a', from: 'db:/n', next: '/n' },
  ],
  ['there is only memory', { has: ':/notes', file: 'tmpfs:/notes', next: '/notes/a' }],
  ['the mount is read-only', { has: '/srv/c:/etc/a/c:ro', file: '/srv/c:/etc/a/c', next: '/etc/a' }],
  ['it is the engine socket', { has: '/var/run/docker.sock:/var/run/docker.sock', next: '/var/run' }],
  ['it is the compose file', { has: `${at('compose.yaml')}:/app/c.yaml`, next: '/app' }],
])('no data is left unmounted if %s', (_, given) => expect(found(given)).toBe(''));

it('mountLinesFor mounts the data at the old and the new path', () => {
  const lines = (given: Case, existing: readonly string[] = []) =>
    formatMountLines(find(given), new Set(existing.map((path) => `app:${path}`)), {
      ...model(),
      volumes: { db: { name: 'svc_db' } },
    }).join('\n');
  expect(lines({ has: 'V:/notes/$a', old: '/notes/$a', next: '/notes' })).toBe(`services:
  app:
    volumes:
      - type: volume
        source: app-0f0f0f0f0f0f
        target: /notes/$$a
      - type: volume
        source: app-0f0f0f0f0f0f
        target: /notes
volumes:
  app-0f0f0f0f0f0f:
    external: true
    name: ${v}`);
  const inVolume: Case = { has: 'db:/notes', file: 'db:/notes', next: '/notes/a' };
  expect(lines(inVolume)).toMatch(/source: db\n +target: \/notes\/a$/);
  expect(lines(inVolume, ['/notes/a'])).toMatch(/source: db\n +target: \/notes\/a\n +volume:\n +subpath: a$/);
  expect(lines({ has: '/srv/n:/notes', file: '/srv/n:/notes', next: '/notes/a' }, ['/notes/a'])).toMatch(
    /- type: bind\n +source: \/srv\/n\/a\n +target: \/notes\/a$/,
  );
});

it('describeUnmountedData names the service, the paths and the volume', () => {
  const [left] = find({ has: 'db:/n/a', file: 'db:/n/a', next: '/n' });
  expect(left && describeUnmountedData(left, 'acme/svc:v1.1.0')).toBe(
    'app has data at /n/a (volume svc_db), but a container of acme/svc:v1.1.0 would have a new volume at /n',
  );
});
