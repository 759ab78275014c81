import { existsSync, readFileSync } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { type BumpResult, bump, inDirectory, type Where } from '../e2e/support/bump.ts';

/**
 * Compose files as published by their maintainers, in a directory outside the repository. The result of a bump is
 * checked without our own code: by compose, and against the bytes that the rows predict.
 */
const corpus = resolve(
  process.env.SVC_UPDATER_CORPUS ?? fileURLToPath(new URL('../../../shared/corpus', import.meta.url)),
);
const table = join(corpus, 'groups.tsv');
const newVersion = '99.9.9';
const newDigest = `sha256:${'0123456789abcdef'.repeat(4)}`;

/** Services of one file that share one image at one release tag. */
interface Group {
  file: string;
  /** The env file next to it; empty if there is none. */
  env: string;
  services: string[];
  /** The resolved reference without its tag. */
  image: string;
  tag: string;
  version: string;
  /** Empty if the reference has no digest. */
  digest: string;
  /** The `image:` value in the file. */
  raw: string;
}

/** The contents of the compose file and the env file in latin1, so that a character is a byte. */
type Texts = Record<string, string>;

if (existsSync(table)) {
  describe.concurrent('a bump of published compose files', () => {
    test.for(readGroups().map((group, index) => [`${group.file}: ${group.image}`, group, index] as const))(
      '%s',
      async ([, group, index], { expect }) => {
        await inDirectory(async (directory) => {
          for (const name of namesOf(group)) {
            await copyFile(join(corpus, 'files', dirname(group.file), name), join(directory, name));
          }
          const texts = await readTexts(directory, group);
          const images = await imagesOf(directory, group);
          const wanted = expectedTexts(group, texts);
          const change = (to: string, digest: string, where: Where) =>
            bump(directory, bumpArgs(group, to, digest), where);
          expect(pick(images, group.services)).toEqual(
            everywhere(group, reference(group, group.tag, group.digest)),
          );

          // Starting a container takes longer than a bump, so only some bumps use the compose of the image, the others
          // that of the host.
          const [there, again] =
            index % 3 === 0 ? (['image', 'host'] as const) : (['host', 'image'] as const);
          expectEnd(await change(newVersion, newDigest, there), `updated to v${newVersion}`);
          expect(await readTexts(directory, group)).toEqual(wanted);
          const newTag = group.tag.replace(group.version, newVersion);
          expect(await imagesOf(directory, group)).toEqual({
            ...images,
            ...everywhere(group, reference(group, newTag, group.digest && newDigest)),
          });

          if (index % 3 === 1) {
            expectEnd(await change(newVersion, newDigest, again), 'unchanged: nothing to do');
            expect(await readTexts(directory, group)).toEqual(wanted);
          }

          expectEnd(await change(group.version, group.digest, 'host'), `updated to v${group.version}`);
          expect(await readTexts(directory, group)).toEqual(texts);
        });
      },
    );
  });
} else {
  const notHere = `not here: groups.tsv of the corpus, looked for in ${corpus} (SVC_UPDATER_CORPUS names another place)`;
  test(notHere, () => {
    // Reporters rarely print the names of passed tests.
    console.warn(notHere);
    expect(existsSync(table)).toBe(false);
  });
}

function readGroups(): Group[] {
  const [, ...rows] = readFileSync(table, 'utf8').trimEnd().split(/\r?\n/);
  if (rows.length === 0) throw new Error(`${table} has no rows`);
  return rows.map((row) => {
    const [file = '', env = '', services = '', image = '', tag = '', digest = '', raw = ''] = row.split('\t');
    const version = /\d+\.\d+\.\d+/.exec(tag)?.[0] ?? '';
    const found = /sha256:[0-9a-f]{64}/.exec(raw)?.[0] ?? '';
    if (version === '' || raw === '' || (digest === 'yes') !== (found !== '')) {
      throw new Error(`${table} has a row that is not understood: ${row}`);
    }
    return { file, env, services: services.split(','), image, tag, version, digest: found, raw };
  });
}

const namesOf = ({ file, env }: Group): string[] => [basename(file), ...(env === '' ? [] : [env])];

function bumpArgs({ file, env, services, digest }: Group, to: string, newOne: string): string[] {
  return [
    ...['--file', basename(file), '--to', `v${to}`],
    ...(env === '' ? [] : ['--env-file', env]),
    ...services.flatMap((service) => ['--service', service]),
    ...(digest === '' ? [] : ['--digest', newOne]),
  ];
}

const reference = ({ image }: Group, tag: string, digest: string): string =>
  `${image}:${tag}${digest === '' ? '' : `@${digest}`}`;

const everywhere = ({ services }: Group, image: string): Record<string, string> =>
  Object.fromEntries(services.map((service) => [service, image]));

const pick = (images: Record<string, unknown>, services: string[]) =>
  Object.fromEntries(services.map((service) => [service, images[service]]));

function expectEnd({ exitCode, log }: BumpResult, words: string): void {
  expect(log).toContain(words);
  expect(exitCode, log).toBe(0);
}

async function readTexts(directory: string, group: Group): Promise<Texts> {
  const entries = namesOf(group).map(
    async (name) => [name, await readFile(join(directory, name), 'latin1')] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

/**
 * The expected files: only the line of the env file that sets the tag is changed, or otherwise each line of the compose
 * file with the `image:` value of the services.
 */
function expectedTexts(group: Group, texts: Texts): Texts {
  const { file, env, tag, version, digest, raw } = group;
  const renewed = (text: string) => {
    const moved = text.replace(version, newVersion);
    return digest === '' ? moved : moved.replace(digest, newDigest);
  };
  const inLines = (text: string, carries: (line: string) => boolean) =>
    text
      .split('\n')
      .map((line) => (carries(line) ? renewed(line) : line))
      .join('\n');
  const byEnv = inLines(texts[env] ?? '', (line) => {
    const [name = '', value] = line.trimEnd().split('=');
    return value === tag && raw.includes(`\${${name}`);
  });
  if (env !== '' && byEnv !== texts[env]) return { ...texts, [env]: byEnv };
  const name = basename(file);
  const says = (line: string) => /^\s*image:\s*(["']?)(\S+)\1(\s|$)/.exec(line)?.[2] === raw;
  return { ...texts, [name]: inLines(texts[name] ?? '', says) };
}

/** The image of every service, of any profile, as resolved by compose. */
async function imagesOf(directory: string, group: Group): Promise<Record<string, unknown>> {
  const text = await readFile(join(directory, basename(group.file)), 'utf8');
  const env: Record<string, string> = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };
  for (;;) {
    const { exitCode, stdout, stderr } = await execa(
      'docker',
      [
        ...['compose', '--ansi', 'never', '--project-directory', directory, '--profile', '*', '--file', '-'],
        ...(group.env === '' ? [] : ['--env-file', join(directory, group.env)]),
        ...['config', '--no-consistency', '--format', 'json'],
      ],
      // The env file of a service may be missing, and does not affect images.
      { input: text.replace(/^(\s+)env_file:/gm, '$1x-env-file:'), env, extendEnv: false, reject: false },
    );
    if (exitCode === 0) {
      const services: Record<string, { image?: string }> = JSON.parse(stdout).services;
      return Object.fromEntries(Object.entries(services).map(([name, { image }]) => [name, image ?? null]));
    }
    const required = /required variable (\w+) is missing/.exec(stderr)?.[1];
    if (required === undefined || required in env) throw new Error(stderr);
    env[required] = '1';
  }
}
