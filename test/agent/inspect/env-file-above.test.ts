import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envFilesAbove, explained } from '../../../src/agent/inspect/env-file-above.ts';
import { HostPaths } from '../../../src/files/host-paths.ts';
import { UpdateError } from '../../../src/progress/update-error.ts';

let root = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-above-'));
});
afterAll(() => rm(root, { recursive: true }));

const bind = (source: string, destination = source) =>
  new HostPaths([{ type: 'bind', source, destination, writable: true }]);
const projectIn = (directory: string, ...files: string[]) => ({
  name: 'svc',
  directory,
  files: files.map((file) => join(directory, file)),
  envFiles: [] as string[],
});

describe('the env file above a subdirectory', () => {
  it.each<[string, Record<string, string>, string[], string[]]>([
    ['names the file', { '.env': 'COMPOSE_FILE=a/b/c.yaml\n' }, ['c.yaml'], ['.env']],
    [
      'names several files',
      { '.env': 'COMPOSE_PATH_SEPARATOR=;\nCOMPOSE_FILE=a/b/c.yaml;a/b/d.yaml\n' },
      ['c.yaml', 'd.yaml'],
      ['.env'],
    ],
    [
      'comes before the one beside the file, which counts, too',
      { '.env': 'COMPOSE_FILE=a/b/c.yaml\n', 'a/b/.env': 'X=1\n' },
      ['c.yaml'],
      ['a/b/.env', '.env'],
    ],
    ['names another file', { '.env': 'COMPOSE_FILE=a/b/other.yaml\n' }, ['c.yaml'], []],
    [
      'names the files in another order',
      { '.env': 'COMPOSE_FILE=a/b/d.yaml:a/b/c.yaml\n' },
      ['c.yaml', 'd.yaml'],
      [],
    ],
    ['cannot be read', { '.env': 'a bad line\nCOMPOSE_FILE=a/b/c.yaml\n' }, ['c.yaml'], []],
  ])('%s', async (name, texts, files, expected) => {
    const top = join(root, name.replaceAll(' ', '-'));
    await mkdir(join(top, 'a/b'), { recursive: true });
    for (const [path, text] of Object.entries(texts)) await writeFile(join(top, path), text);
    const project = projectIn(join(top, 'a/b'), ...files);
    const found = expected.map((path) => join(top, path));
    expect(await envFilesAbove(project, bind(top))).toEqual(found);
    // Given on the command line, it is in the labels, and no other counts.
    expect(await envFilesAbove({ ...project, envFiles: ['/x.env'] }, bind(top))).toEqual([]);
    expect(await envFilesAbove(project, bind(join(top, 'a/b')))).toEqual([]);
    // Mounted elsewhere, it has its path on the host.
    const host = {
      ...project,
      directory: '/opt/svc/a/b',
      files: files.map((file) => `/opt/svc/a/b/${file}`),
    };
    expect(await envFilesAbove(host, bind('/opt/svc', top))).toEqual(
      expected.map((path) => join('/opt/svc', path)),
    );
  });

  it('is asked for where it is not mounted and something is missing', async () => {
    const project = projectIn('/opt/svc/deploy', 'c.yaml');
    const lacking = new UpdateError('compose-invalid', 'required variable X is missing a value', {
      advice: 'Set it.',
    });
    const advice = async (error: unknown, paths: HostPaths, of = project) =>
      ((await explained(error, of, paths)) as UpdateError).advice;
    const own = bind('/opt/svc/deploy');
    expect(await advice(lacking, own)).toBe(
      'Set it. If COMPOSE_FILE in a .env of /opt/svc names the compose file, add -v /opt/svc:/opt/svc to the docker run command.',
    );
    expect(await advice(lacking, bind(dirname(project.directory)))).toBe('Set it.');
    expect(await advice(lacking, own, { ...project, envFiles: ['/x'] })).toBe('Set it.');
    const other = new UpdateError('compose-invalid', 'no such key', { advice: 'Mend it.' });
    expect(await advice(other, own)).toBe('Mend it.');
    const crash = new Error('required variable X');
    expect(await explained(crash, project, own)).toBe(crash);
  });

  it('is to name the files where it sets what is missing and the shell named them', async () => {
    const top = join(root, 'shell');
    await mkdir(join(top, 'deploy'), { recursive: true });
    await writeFile(join(top, '.env'), 'X=1\n');
    const project = projectIn(join(top, 'deploy'), 'c.yaml', 'd.yaml');
    const lacking = (name: string) =>
      new UpdateError('compose-invalid', `required variable ${name} is missing a value`, {
        advice: 'Set it.',
      });
    expect(await explained(lacking('X'), project, bind(top))).toMatchObject({
      advice: `${top}/.env sets X. If the instance was started from ${top}, add the line COMPOSE_FILE=deploy/c.yaml:deploy/d.yaml there, then run the update again.`,
    });
    for (const [name, paths] of [
      ['Y', bind(top)],
      ['X', bind(project.directory)],
    ] as const) {
      expect(await explained(lacking(name), project, paths)).toMatchObject({
        advice: expect.stringMatching(/^Set it\./),
      });
    }
  });
});
