// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readBumpProject } from '../../../../src/updater/compose/bump/read-bump-project.ts';
import { bumpOptions, rememberingLog } from '../../../build-plan.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

let root = '';
const working = process.cwd();
beforeEach(async () => {
  root = await temporaryDirectory();
});
afterEach(() => void process.chdir(working));

type Texts = Record<string, string>;

/** Runs in the directory `from`, and returns paths relative to `root`. */
async function read(files: string[] | Texts, argv: string[] = [], from = '.') {
  const texts: Texts = Array.isArray(files) ? Object.fromEntries(files.map((name) => [name, ''])) : files;
  for (const [name, text] of Object.entries(texts)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  await mkdir(join(root, from), { recursive: true });
  process.chdir(join(root, from));
  const {
    composeFiles,
    envFiles,
    newEnvFile,
    directory = '',
  } = await readBumpProject(
    bumpOptions(...argv.map((word) => word.replace('ROOT', root))),
    rememberingLog().log,
  );
  const names = (list: readonly { path: string }[]) => list.map(({ path }) => relative(root, path));
  return {
    files: names(composeFiles),
    env: names(envFiles),
    newEnvFile: relative(root, newEnvFile),
    directory: relative(root, directory),
  };
}

describe('readBumpProject without --file', () => {
  it.each<[string[], string[]]>([
    [['compose.yml', 'docker-compose.yml', 'docker-compose.yaml'], ['compose.yml']],
    [['compose.yaml', 'compose.yml', 'docker-compose.yml', 'docker-compose.yaml'], ['compose.yaml']],
    [
      ['compose.yaml', 'docker-compose.override.yaml', 'docker-compose.override.yml'],
      ['compose.yaml', 'docker-compose.override.yml'],
    ],
    [['compose.yaml', 'compose.prod.yaml', 'compose.json'], ['compose.yaml']],
  ])('finds, in a directory with %j, the compose files %j', async (files, expected) => {
    expect((await read(files)).files).toEqual(expected);
  });

  it('rejects a --dir without a compose file', async () => {
    const message = `there is no compose file in ${root}/empty`;
    const advice = 'Specify the file with --file, or its directory with --dir.';
    await expect(read(['compose.yaml', 'empty/readme.md'], ['--dir', 'empty'])).rejects.toThrow(
      expect.objectContaining({ code: 'compose-invalid', message, advice }),
    );
  });
});

describe('COMPOSE_FILE', () => {
  it('is read from --env-file, but not if --file is set', async () => {
    const texts = { 'compose.yaml': '', 'a.yaml': '', 'parts/b.yaml': '', 'prod.env': 'COMPOSE_FILE=a.yaml' };
    expect((await read(texts, ['--env-file', 'prod.env'])).files).toEqual(['a.yaml']);
    expect((await read(texts, ['--env-file', 'prod.env', '--file', 'parts/b.yaml'])).files).toEqual([
      'parts/b.yaml',
    ]);
  });
});

describe('paths', () => {
  const texts = ['svc/compose.yaml', 'svc/more.yaml', 'svc/.env', 'svc/prod.env', 'more.yaml', 'top.env'];
  it.each<[string, string, string[], string[], string[], string]>([
    ['the working directory', 'svc', [], ['svc/compose.yaml'], ['svc/.env'], 'svc'],
    ['--dir', '.', ['--dir', 'svc'], ['svc/compose.yaml'], ['svc/.env'], 'svc'],
    [
      'the directory of the first --file',
      '.',
      ['--file', 'svc/more.yaml', '--file', 'more.yaml'],
      ['svc/more.yaml', 'more.yaml'],
      ['svc/.env'],
      'svc',
    ],
    [
      '--dir, for --env-file',
      '.',
      ['--dir', 'svc', '--env-file', 'prod.env'],
      ['svc/compose.yaml'],
      ['svc/prod.env'],
      'svc',
    ],
  ])('are relative to %s', async (_, from, argv, files, env, directory) => {
    expect(await read(texts, argv, from)).toMatchObject({ files, env, directory, newEnvFile: env.at(-1) });
  });

  it('of missing files are resolved against --dir', async () => {
    const told = read(texts, ['--dir', 'svc', '--file', 'gone.yaml']);
    const message = `${root}/svc/gone.yaml does not exist`;
    await expect(told).rejects.toThrow(expect.objectContaining({ code: 'compose-invalid', message }));
  });
});

describe('linked files', () => {
  it.each([
    ['include', 'include: [gone.yaml]\n', 'gone.yaml'],
    ['env_file', 'include: [{path: a.yaml, env_file: gone.env}]\n', 'gone.env'],
  ])('listed in %s must exist', async (as, text, name) => {
    const message = `compose.yaml line 1: ${as} ${root}/${name} does not exist`;
    await expect(read({ 'compose.yaml': text, 'a.yaml': '' })).rejects.toThrow(
      expect.objectContaining({ code: 'compose-invalid', message }),
    );
  });
});
