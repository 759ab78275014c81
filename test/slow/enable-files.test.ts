import { existsSync, readFileSync } from 'node:fs';
import { cp, readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { describe, test } from 'vitest';
import { inDirectory } from '../e2e/support/bump.ts';

/**
 * `enable` on compose files as their maintainers published them. The files are in directories outside the repository:
 * those of `groups.tsv`, and one directory for each row of test/products/published-files.tsv, with the product's name.
 */
const corpus = resolve(
  process.env.SVC_UPDATER_CORPUS ?? fileURLToPath(new URL('../../../shared/corpus', import.meta.url)),
);
const published = process.env.SVC_UPDATER_PUBLISHED ?? '';
const bundle = fileURLToPath(new URL('../../dist/agent.mjs', import.meta.url));

interface Row {
  name: string;
  /** The directory with the files. */
  from: string;
  file: string;
  env: string;
  services: string[];
  repository: string;
  /** Why `enable` refuses the file; empty if it does not. */
  refused: string;
}

/** Files of the corpus that are refused. */
const refusedInCorpus: Readonly<Record<string, string>> = {
  'CodesWhat__drydock/test/docker-compose.yml': 'do not have the same publisher',
  'Dokploy__templates/blueprints/glitchtip/docker-compose.yml': 'comes from an anchor',
  'Dokploy__templates/blueprints/nextcloud-aio/docker-compose.yml': 'do not have the same publisher',
  'Dokploy__templates/blueprints/shopware/docker-compose.yml': 'comes from an anchor',
  'JamesTurland__JimsGarage/Authentik/Web-Proxies/authentik-docker-compose.yaml':
    'no network that only this project uses',
  'bookwyrm-social__bookwyrm/docker-compose.yml': 'do not have the same publisher',
  'getwud__wud/test/docker-compose.yml': 'do not have the same publisher',
};

const tableOf = (path: string): string[][] =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'));

function readCorpus(): Row[] {
  const groups = tableOf(join(corpus, 'groups.tsv'));
  return groups.flatMap(([file = '', env = '', services = '', repository = '']) =>
    groups.filter(([other]) => other === file).length > 1
      ? []
      : {
          ...{ name: file, from: join(corpus, 'files', dirname(file)), file: file.split('/').at(-1) ?? '' },
          ...{ env, services: services.split(','), repository, refused: refusedInCorpus[file] ?? '' },
        },
  );
}

const readPublished = (): Row[] =>
  tableOf(fileURLToPath(new URL('../products/published-files.tsv', import.meta.url))).map(
    ([name = '', , , , app = '', workers = '', refused = '']) => ({
      ...{ name, from: join(published, name), file: 'compose.yaml', env: 'env.example', repository: '' },
      ...{ services: [app, ...workers.split(',').filter(Boolean)], refused },
    }),
  );

/** The repository of the app, with the defaults of its variables. The required variables of a file may be unset. */
async function repositoryOf(directory: string, { file, services, repository }: Row): Promise<string> {
  if (repository !== '') return repository;
  const flags = ['--no-consistency', '--no-env-resolution', '--no-interpolate', '--format', 'json'];
  const { stdout } = await execa('docker', ['compose', '-f', file, 'config', ...flags], { cwd: directory });
  return JSON.parse(stdout)
    .services[services[0] ?? ''].image.replaceAll(/\$\{\w+:?-([^{}]*)\}/g, '$1')
    .replaceAll(/\$\{[^{}]*\}/g, 'x')
    .replace(/@.*$/, '')
    .replace(/:[^:/]*$/, '');
}

const enables = (rows: readonly Row[]) =>
  test.for(rows.map((row) => [row.name, row] as const))('%s', async ([, row], { expect }) => {
    await inDirectory(async (directory) => {
      await cp(row.from, directory, { recursive: true });
      if (!['', '.env'].includes(row.env) && existsSync(join(directory, row.env)))
        await cp(join(directory, row.env), join(directory, '.env'));
      const text = () => readFile(join(directory, row.file), 'latin1');
      const record = {
        ...{ name: 'larder', services: ['app', 'updates'] },
        updatesImage: `${await repositoryOf(directory, row)}-updates`,
      };
      const flags = [...row.services.flatMap((name) => ['--service', name]), '--file', row.file];
      const env = { SVC_UPDATER_PRODUCT: JSON.stringify(record) };
      const enable = async (to: string, ...args: string[]) => {
        const line = ['--', bundle, 'enable', '--to', to, ...flags, ...args];
        const { all } = await execa(process.execPath, line, {
          all: true,
          reject: false,
          cwd: directory,
          env,
        });
        return all;
      };
      const hashOf = (log: string) => /--yes (\w{12})$/.exec(log)?.[1] ?? log;
      const before = await text();
      const names = await readdir(directory);
      const first = await enable('v9.8.7');
      const to = /is pinned to (\S+), not to/.exec(first)?.[1] ?? 'v9.8.7';
      const dry = await enable(to);
      expect(await text()).toBe(before);
      expect(await readdir(directory)).toEqual(names);
      if (row.refused !== '') {
        expect(dry).toContain('refused (');
        return;
      }
      expect(await enable(to, '--yes', hashOf(dry))).toContain('added the service updates');
      const undo = await enable(to, '--undo');
      expect(await enable(to, '--undo', '--yes', hashOf(undo))).toContain('removed the service updates');
      // Only tags may have changed.
      expect((await text()).split('\n')).toHaveLength(before.split('\n').length);
    });
  });

if (existsSync(join(corpus, 'groups.tsv')))
  describe.concurrent('enable on the files of the corpus', () => enables(readCorpus()));

if (published !== '') describe.concurrent('enable on published files', () => enables(readPublished()));
