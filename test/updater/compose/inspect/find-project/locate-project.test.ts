import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { HostPaths } from '../../../../../src/core/mounts/host-paths.ts';
import { composeLabels } from '../../../../../src/engine/objects/labels.ts';
import type {
  DirectoryMatch,
  HostDirectoryInspector,
} from '../../../../../src/updater/compose/inspect/find-project/host-directory-inspector.ts';
import {
  groupContainersByProject,
  type ProjectSummary,
} from '../../../../../src/updater/compose/inspect/find-project/labeled-project.ts';
import { locateProject } from '../../../../../src/updater/compose/inspect/find-project/locate-project.ts';
import { Journal, type JournalData } from '../../../../../src/updater/run/state/journal.ts';
import { stateDirectoryOf } from '../../../../../src/updater/run/state/state-directory.ts';
import { container, journalData } from '../../../../build.ts';
import { updateOptions } from '../../../../build-plan.ts';
import { temporaryDirectory } from '../../../../rig/temporary-directory.ts';

let root = '';
beforeEach(async () => {
  root = await temporaryDirectory();
});

/** Host paths by their mount points in `root`. */
type Mounts = Record<string, string>;
const hostPaths = (mounts: Mounts): HostPaths =>
  new HostPaths(
    Object.entries(mounts).map(([here, source]) => ({
      type: 'bind',
      source,
      destination: join(root, here),
      writable: true,
    })),
  );

const known = (name: string, directory: string, ...services: string[]): ProjectSummary => ({
  name,
  directory,
  services: new Set(services),
  files: [`${directory}/compose.yaml`],
});
const svc = known('svc', '/opt/svc', 'app', 'worker', 'db');
const blog = known('blog', '/opt/blog', 'web', 'db');

/** A host on which two paths are always the same directory, and where no other program has mounts. */
const plain: HostDirectoryInspector = {
  compare: async () => 'same',
  hasComposeFile: async () => false,
  listMounts: async () => [],
};

/** Locates the project with these files; every mount is a directory. */
const locate = (mounts: Mounts, files: string[], projects: ProjectSummary[], ...argv: string[]) =>
  locateOn(plain, mounts, files, projects, ...argv);

async function locateOn(
  look: HostDirectoryInspector,
  mounts: Mounts,
  files: string[],
  projects: ProjectSummary[],
  ...argv: string[]
) {
  for (const name of Object.keys(mounts)) await mkdir(join(root, name), { recursive: true });
  for (const name of files) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), '');
  }
  const paths = hostPaths(mounts);
  const options = updateOptions(...argv.map((word) => word.replace('ROOT', root)));
  const place = await locateProject(projects, paths, options, look);
  return { paths, found: { ...place, mountedAt: place.mountedAt.replace(`${root}/`, '') } };
}

const refusal = (code: string, message: string, advice: unknown = expect.any(String)) =>
  expect.objectContaining({ code, message, advice });
const at = (mountedAt: string, name = 'svc', directory = '/opt/svc') => ({ name, directory, mountedAt });
const one = { compose: '/opt/svc' };
const engineHas = 'projects on this engine: svc (/opt/svc), blog (/opt/blog)';

describe('locateProject by the mounted directory', () => {
  it.each<[string, Mounts, string[], ProjectSummary[], string[], ReturnType<typeof at>]>([
    [
      'the one that holds a compose file',
      { compose: '/opt/svc', data: '/opt/blog' },
      ['compose/compose.yaml'],
      [svc, blog],
      [],
      at('compose'),
    ],
    [
      'of several in one directory, the one with the app',
      one,
      ['compose/compose.yaml'],
      [known('tools', '/opt/svc', 'cron'), svc],
      [],
      at('compose'),
    ],
    [
      'the one with the app that is named',
      { a: '/opt/svc', b: '/opt/blog' },
      ['a/compose.yaml', 'b/compose.yaml'],
      [svc, blog],
      ['--service', 'web'],
      at('b', 'blog', '/opt/blog'),
    ],
    [
      'the one that --dir names',
      { a: '/opt/svc', b: '/opt/blog' },
      ['a/compose.yaml', 'b/compose.yaml'],
      [svc, blog],
      ['--dir', 'ROOT/b'],
      at('b', 'blog', '/opt/blog'),
    ],
  ])('selects %s', async (_, mounts, files, projects, argv, expected) => {
    expect((await locate(mounts, files, projects, ...argv)).found).toEqual(expected);
  });

  it.each<[string, Mounts, string[], ProjectSummary[], ReturnType<typeof refusal>]>([
    [
      'several with the app',
      { a: '/opt/svc', b: '/opt/two' },
      ['a/compose.yaml', 'b/compose.yaml'],
      [svc, known('two', '/opt/two', 'app')],
      refusal('several-projects', 'several projects match: svc (/opt/svc), two (/opt/two)'),
    ],
    [
      'several without the app',
      one,
      ['compose/compose.yaml'],
      [known('a', '/opt/svc', 'x'), known('b', '/opt/svc', 'y')],
      refusal('several-projects', 'several projects match: a (/opt/svc), b (/opt/svc)'),
    ],
    [
      'no compose file in a mount',
      { data: '/srv' },
      ['data/compose.txt', 'data/.env'],
      [svc, blog],
      refusal('not-mounted', `no mounted directory contains a compose file; ${engineHas}`),
    ],
    [
      'an old copy, though the true one is mounted as well',
      { copy: '/srv/copy', opt: '/opt' },
      ['copy/compose.yaml'],
      [svc, blog],
      refusal(
        'not-compose',
        `no compose project was started from /srv/copy; ${engineHas}`,
        'If one of these projects uses the same directory under another path, select that project with --project.',
      ),
    ],
    [
      'a directory above the only project',
      { opt: '/opt' },
      ['opt/compose.yaml'],
      [svc],
      refusal(
        'not-compose',
        'no compose project was started from /opt; projects on this engine: svc (/opt/svc)',
        expect.stringContaining('Update manually'),
      ),
    ],
  ])('refuses %s', async (_, mounts, files, projects, expected) => {
    await expect(locate(mounts, files, projects)).rejects.toThrow(expected);
  });

  it('refuses a --dir that is not mounted', async () => {
    const expected = refusal('not-mounted', 'the directory /elsewhere (--dir) is not mounted from the host');
    await expect(locate(one, ['compose/compose.yaml'], [svc], '--dir', '/elsewhere')).rejects.toThrow(
      expected,
    );
  });

  it.each([
    ['docker-compose.yaml', true],
    ['svc.yaml', false],
  ])('treats %s as a compose file: %s', async (name, expected) => {
    const told = locate({ data: '/srv' }, [`data/${name}`], [svc]);
    await expect(told).rejects.toThrow(
      expect.objectContaining({ code: expected ? 'not-compose' : 'not-mounted' }),
    );
  });

  it('considers only bind mounts', async () => {
    const paths = new HostPaths([{ type: 'volume', source: 'svc', destination: root, writable: true }]);
    await writeFile(join(root, 'compose.yaml'), '');
    await expect(locateProject([svc], paths, updateOptions(), plain)).rejects.toThrow(
      expect.objectContaining({ code: 'not-mounted' }),
    );
  });
});

describe('locateProject by --project', () => {
  const two = { a: '/opt/svc', b: '/opt/blog' };
  it.each<[string, Mounts, string[], string[], ReturnType<typeof at>]>([
    ['below a mount', { opt: '/opt' }, [], [], at('opt/svc')],
    [
      'where another spelling of it is mounted',
      { compose: '/data/svc' },
      ['compose/compose.yaml'],
      [],
      at('compose'),
    ],
    ['in the directory that --dir says is the same', two, [], ['--dir', 'ROOT/b'], at('b')],
  ])('finds the project %s', async (_, mounts, files, argv, expected) => {
    const { found, paths } = await locate(mounts, files, [blog, svc], '--project', 'svc', ...argv);
    expect(found).toEqual(expected);
    expect(paths.fromHost('/opt/svc')).not.toBeNull();
  });

  it('refuses a project that has no container', async () => {
    const expected = refusal('not-compose', `compose project mine has no containers; ${engineHas}`);
    await expect(locate(one, ['compose/compose.yaml'], [svc, blog], '--project', 'mine')).rejects.toThrow(
      expected,
    );
  });

  it('refuses a project that is not mounted if several mounts could contain it', async () => {
    const expected = refusal(
      'not-mounted',
      'the directory /opt/svc of project svc is not mounted',
      'Add -v /opt/svc:/opt/svc to the docker run command.',
    );
    const told = locate(
      { a: '/srv/a', b: '/srv/b' },
      ['a/compose.yaml', 'b/compose.yaml'],
      [svc],
      ...['--project', 'svc'],
    );
    await expect(told).rejects.toThrow(expected);
  });
});

describe('locateProject by --project, in a directory that is not in the labels', () => {
  it.each<[string, DirectoryMatch, ProjectSummary[], string, string]>([
    [
      "is another project's",
      'another',
      [svc, blog],
      '/opt/blog belongs to project blog',
      'Add -v /opt/svc:/opt/svc to the docker run command.',
    ],
    [
      'is an old copy',
      'another',
      [svc],
      'no project was started from that directory, so it may be an old copy',
      'Add -v /opt/svc:/opt/svc to the docker run command.',
    ],
    [
      'is where somebody has moved it',
      'nothing',
      [svc],
      'no project was started from that directory, so it may be an old copy; /opt/svc no longer contains a compose file',
      'If /opt/blog is the directory of project svc, also mount it at the path that compose used. Add -v /opt/blog:/opt/svc to the docker run command. Otherwise, mount the directory of the project.',
    ],
  ])('refuses a directory that %s', async (_, likeness, projects, whose, advice) => {
    const look = { ...plain, compare: async () => likeness };
    const asked = locateOn(look, { b: '/opt/blog' }, ['b/compose.yaml'], projects, '--project', 'svc');
    await expect(asked).rejects.toThrow(
      refusal('not-mounted', `/opt/blog is not the directory of project svc (/opt/svc); ${whose}`, advice),
    );
  });
});

describe('locateProject without --project, in a directory that is not in the labels', () => {
  const advice =
    'If /srv/new is the directory of project svc, also mount it at the path that compose used. Add -v /srv/new:/opt/svc to the docker run command.';
  it.each<[string, string[], string[], ProjectSummary[], unknown]>([
    ['was moved', ['new/compose.yaml'], [], [svc, blog], advice],
    ['still exists', ['new/compose.yaml'], ['/opt/svc'], [svc], expect.not.stringContaining('-v /srv/new')],
    ['has another file', ['new/compose.yml'], [], [svc], expect.not.stringContaining('-v /srv/new')],
    [
      'may be another one',
      ['new/compose.yaml'],
      [],
      [svc, known('x', '/x', 'app')],
      expect.not.stringContaining('-v /srv'),
    ],
  ])(
    'decides whether to suggest -v for a project whose directory %s',
    async (_, files, there, projects, expected) => {
      const look = { ...plain, hasComposeFile: async (path: string) => there.includes(path) };
      const asked = locateOn(look, { new: '/srv/new' }, files, projects);
      await expect(asked).rejects.toThrow(expect.objectContaining({ code: 'not-compose', advice: expected }));
    },
  );
});

describe('locateProject for a project that another program started', () => {
  const stack = known('svc', '/data/compose/7', 'app');
  const portainer = {
    volume: 'portainer_data',
    source: '/var/lib/docker/volumes/portainer_data/_data',
    destination: '/data',
  };
  const bind = { ...portainer, volume: '', source: '/srv/stacks' };
  const host = (
    mounts: (typeof portainer)[],
    likeness: DirectoryMatch = 'nothing',
  ): HostDirectoryInspector => ({
    compare: async () => likeness,
    hasComposeFile: async (path) => path === `${portainer.source}/compose/7`,
    listMounts: async () => mounts,
  });
  const volume = async (here: string) => {
    const destination = join(root, here);
    await mkdir(join(destination, 'compose/7'), { recursive: true });
    await writeFile(join(destination, 'compose/7/compose.yaml'), '');
    return new HostPaths([{ type: 'volume', source: 'portainer_data', destination, writable: true }]);
  };

  it('finds a directory in a volume of that program by the path in the labels', async () => {
    const mounts = { stack: `${portainer.source}/compose/7` };
    const { found } = await locateOn(host([portainer]), mounts, ['stack/compose.yaml'], [stack, blog]);
    expect(found).toEqual(at('stack', 'svc', '/data/compose/7'));
  });

  it('finds a directory that the program has mounted at another path', async () => {
    const mounts = { stacks: '/srv/stacks' };
    const { found } = await locateOn(host([bind]), mounts, ['stacks/compose/7/compose.yaml'], [stack]);
    expect(found).toEqual(at('stacks/compose/7', 'svc', '/data/compose/7'));
  });

  it('refuses the directory if the host has other compose files at that path', async () => {
    const place = locateProject(
      [stack],
      await volume('elsewhere'),
      updateOptions(),
      host([portainer], 'another'),
    );
    await expect(place).rejects.toThrow(expect.objectContaining({ code: 'not-mounted' }));
  });

  it('suggests the -v option if the directory is not mounted', async () => {
    const asked = locateOn(host([portainer, bind]), { data: '/srv' }, [], [stack]);
    const message =
      'no mounted directory contains a compose file; projects on this engine: svc (/data/compose/7)';
    const advice = `Add -v ${portainer.source}/compose/7:/data/compose/7 to the docker run command.`;
    await expect(asked).rejects.toThrow(refusal('not-mounted', message, advice));
  });
});

describe('locateProject after an interrupted update', () => {
  async function interrupted(here: string, changes: Partial<JournalData> = {}): Promise<void> {
    const state = stateDirectoryOf(join(root, here));
    await mkdir(state, { recursive: true });
    await new Journal({ state, restore: async () => {} }, journalData(changes)).write();
  }
  const rest = known('svc', '/opt/svc', 'db');
  const tools = known('tools', '/opt/svc', 'cron');
  const several = refusal('several-projects', 'several projects match: tools (/opt/svc), svc (/opt/svc)');

  it('includes the services in the journal, because the app may have no container', async () => {
    await interrupted('compose');
    const { found } = await locate(
      one,
      ['compose/compose.yaml'],
      [tools, { ...rest, services: new Set(['db']) }],
    );
    expect(found).toEqual(at('compose'));
  });

  it.each<[string, string[], string[]]>([
    ['in a directory with a compose file', ['compose/compose.yaml'], []],
    ['by --dir', [], ['--dir', 'ROOT/compose']],
  ])('finds a project without containers: %s', async (_, files, argv) => {
    await interrupted('compose');
    expect((await locate(one, files, [blog], ...argv)).found).toEqual(at('compose'));
  });

  const settled: Partial<JournalData> = {
    state: { at: 'ended', ending: { outcome: 'updated', exitCode: 0, message: 'updated' }, left: null },
  };

  it('finds a project without containers by the journal of an ended run to remove its restore points', async () => {
    await interrupted('compose', settled);
    const found = locate(one, ['compose/compose.yaml'], [blog], 'restore-point', 'rm');
    expect((await found).found).toEqual(at('compose'));
    await expect(locate(one, ['compose/compose.yaml'], [blog])).rejects.toThrow(
      'no compose project was started from /opt/svc',
    );
  });

  it.each<[string, Partial<JournalData>]>([
    ['that was settled', settled],
    [
      'of a project of that name elsewhere',
      { project: { name: 'svc', directory: '/opt/other', files: [], envFiles: [] } },
    ],
  ])('ignores the journal of an update %s', async (_, changes) => {
    await interrupted('compose', changes);
    const projects = [tools, known('svc', '/opt/svc', 'db')];
    await expect(locate(one, ['compose/compose.yaml'], projects)).rejects.toThrow(several);
  });
});

it('groupKnownProjects returns each directory of each project, with its services', () => {
  const row = (name: string, directory: string, service: string) => ({
    ...container('app-1'),
    labels: {
      [composeLabels.project]: name,
      [composeLabels.directory]: directory,
      [composeLabels.files]: `${directory}/compose.yaml`,
      [composeLabels.service]: service,
    },
  });
  const rows = [
    row('svc', '/opt/svc', 'app'),
    row('svc', '/srv/svc', 'app'),
    row('svc', '/opt/svc', 'db'),
    row('svc', '/opt/svc', 'db'),
    row('tools', '/opt/svc', 'cron'),
  ];
  expect(groupContainersByProject(rows)).toEqual([
    known('svc', '/opt/svc', 'app', 'db'),
    known('svc', '/srv/svc', 'app'),
    known('tools', '/opt/svc', 'cron'),
  ]);
});
