// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { type BumpOptions, type BumpResult, bump, inDirectory, type Where } from './support/bump.ts';

const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const services = (texts: Record<string, string>) =>
  `services:\n${Object.entries(texts)
    .map(([name, image]) => `  ${name}:\n    image: ${image}\n`)
    .join('')}`;
const web = ['--to', 'v1.1.0', '--service', 'web'];

interface Tried extends BumpResult {
  /** All files afterwards, by name. */
  after: Record<string, string>;
}

async function lay(directory: string, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), text);
  }
}

async function texts(directory: string): Promise<Record<string, string>> {
  const names = await readdir(directory, { recursive: true });
  const files: Record<string, string> = {};
  for (const name of names.sort()) {
    if ((await stat(join(directory, name))).isFile())
      files[name] = await readFile(join(directory, name), 'utf8');
  }
  return files;
}

const attempt = (
  files: Record<string, string>,
  args: readonly string[],
  where: Where = 'host',
): Promise<Tried> =>
  inDirectory(async (directory) => {
    await lay(directory, files);
    const result = await bump(directory, args, where);
    return { ...result, after: await texts(directory) };
  });

describe('bump', () => {
  describe.each<Where>(['image', 'host'])('with the compose of the %s', (where) => {
    test('needs neither the secrets nor the env files of the instance', async () => {
      const files = {
        'compose.yaml': [
          'services:',
          '  web:',
          '    image: acme/svc:${V:-v1.0.0}',
          '    env_file: [secrets.env, {path: ./more.env, required: false}]',
          '    environment: {PASSWORD: "${PASSWORD:?set it}", KEY: "${KEY?}"}',
          '    ports: ["${PORT:?}:80"]',
          '  db:',
          '    image: postgres:16',
          '    env_file: ${DIR:?}/db.env',
          '',
        ].join('\n'),
        '.env': 'PORT=\n',
      };
      const { exitCode, log, after } = await attempt(files, web, where);
      expect(log).toContain('compose.yaml line 3: v1.0.0 → v1.1.0');
      expect(exitCode).toBe(0);
      expect(after).toEqual({ ...files, 'compose.yaml': files['compose.yaml'].replace('v1.0.0', 'v1.1.0') });
    });

    test('leaves alone what an anchor in an extension shares with no other service', async () => {
      const files = {
        'compose.yaml': [
          'x-image: &image acme/svc:v1.0.0',
          'x-app: &app {image: *image, restart: always}',
          'services:',
          '  web: {<<: *app}',
          '  worker: *app',
          '  db: {image: "postgres:16"}',
          '',
        ].join('\n'),
      };
      const { exitCode, log, after } = await attempt(files, web, where);
      expect(log).toContain('worker is pinned by the same text and moves, too');
      expect(exitCode).toBe(0);
      expect(after).toEqual({ 'compose.yaml': files['compose.yaml'].replace('v1.0.0', 'v1.1.0') });
    });
  });

  test('shows a diff of every file and writes none', async () => {
    const files = {
      'compose.yaml': services({ web: 'acme/svc:v1.0.0', worker: 'acme/svc:$V' }),
      '.env': 'V=v1.0.0 # pinned',
    };
    const args = [...web, '--service', 'worker', '--dry-run'];
    const { exitCode, log, after } = await attempt(files, args);
    expect(exitCode).toBe(0);
    expect(after).toEqual(files);
    const shown = log.split('\n').flatMap((line) => / plan ([-+@ ].*)$/.exec(line)?.[1] ?? []);
    expect(shown).toEqual([
      '--- a/compose.yaml',
      '+++ b/compose.yaml',
      '@@ -3 +3 @@',
      '-    image: acme/svc:v1.0.0',
      '+    image: acme/svc:v1.1.0',
      '--- a/.env',
      '+++ b/.env',
      '@@ -1 +1 @@',
      '-V=v1.0.0 # …',
      '+V=v1.1.0 # …',
    ]);
    expect(log).toMatch(/done planned: nothing was changed$/);
  });

  test('finds relative paths in --dir first, then in the working directory', async () => {
    await inDirectory(async (directory) => {
      const files = {
        'apps/compose.prod.yaml': services({ web: 'acme/svc:$V' }),
        'apps/prod.env': 'V=v1.0.0\n',
        'compose.prod.yaml': services({ web: 'acme/other:v1.0.0' }),
      };
      await lay(directory, files);
      const paths = ['--dir', 'apps', '--file', 'compose.prod.yaml'];
      const inside = await bump(directory, [...web, ...paths, '--env-file', 'prod.env'], 'host');
      expect(inside.log).toContain('prod.env line 1: v1.0.0 → v1.1.0');
      const outside = await bump(
        directory,
        ['--to', 'v1.2.0', '--service', 'web', ...paths, '--env-file', 'apps/prod.env'],
        'host',
      );
      expect(outside.log).toContain('prod.env line 1: v1.1.0 → v1.2.0');
      expect(await texts(directory)).toEqual({ ...files, 'apps/prod.env': 'V=v1.2.0\n' });
      const missing = await bump(directory, [...web, '--dir', 'apps', '--file', 'x.yaml'], 'host');
      expect(missing.log).toContain(`${join(directory, 'apps/x.yaml')} does not exist`);
    });
  });

  const pinned = `acme/svc:v1.0.0@${digest('a')}`;

  test.each<[string, Record<string, string>, string[], string | RegExp, Record<string, string>?]>([
    ['the pin is there already', { web: 'acme/svc:v1.1.0' }, [], /done unchanged: nothing to do$/],
    [
      'the pin is there already, with a digest',
      { web: pinned.replace('v1.0.0', 'v1.1.0') },
      [],
      /done unchanged: nothing to do$/,
    ],
    ['the pin floats', { web: 'acme/svc' }, [], 'web floats at latest (image of web in compose.yaml line 3'],
    [
      'one floats',
      { web: 'acme/svc:v1.0.0', worker: 'acme/svc:canary' },
      ['--service', 'worker'],
      'worker floats at canary (image of worker in compose.yaml line 5): nothing to bump',
      { web: 'acme/svc:v1.1.0', worker: 'acme/svc:canary' },
    ],
    [
      'the digest moves with the tag',
      { web: pinned },
      ['--digest', digest('b')],
      'compose.yaml line 3: v1.0.0 → v1.1.0',
      { web: `acme/svc:v1.1.0@${digest('b')}` },
    ],
    [
      'only the digest is new',
      { web: pinned.replace('v1.0.0', 'v1.1.0') },
      ['--digest', digest('b')],
      `compose.yaml line 3: ${digest('a')} → ${digest('b')}`,
      { web: `acme/svc:v1.1.0@${digest('b')}` },
    ],
    [
      'a digest that no pin carries',
      { web: 'acme/svc:v1.0.0' },
      ['--digest', digest('b')],
      'WARN  plan --digest is not used: no pin carries one',
      { web: 'acme/svc:v1.1.0' },
    ],
    [
      'an older release, said once',
      { web: 'acme/svc:v2.0.0', worker: 'acme/svc:v1.9.0' },
      ['--service', 'worker'],
      /^(?!.*is older than v[^2]).*WARN {2}plan v1\.1\.0 is older than v2\.0\.0: migrations only run forward/s,
      { web: 'acme/svc:v1.1.0', worker: 'acme/svc:v1.1.0' },
    ],
    [
      'canary',
      { web: 'acme/svc:v1.0.0-alpine' },
      ['--to', 'canary'],
      'compose.yaml line 3: v1.0.0-alpine → canary',
      { web: 'acme/svc:canary' },
    ],
  ])('%s', async (_, images, more, says, then = images) => {
    const args = more.includes('--to') ? [...more, '--service', 'web'] : [...web, ...more];
    const { exitCode, log, after } = await attempt({ 'compose.yaml': services(images) }, args);
    if (typeof says === 'string') expect(log).toContain(says);
    else expect(log).toMatch(says);
    expect(exitCode).toBe(0);
    expect(after).toEqual({ 'compose.yaml': services(then) });
  });

  test.each<[string, Record<string, string>, string[], string, string]>([
    [
      'a tag that is no release tag',
      { 'compose.yaml': services({ web: 'acme/svc:edge' }) },
      [],
      'web is at edge (image of web in compose.yaml line 3), which is no release tag',
      'Write a release tag there by hand, such as v1.2.3',
    ],
    [
      'a digest that is not known',
      { 'compose.yaml': services({ web: pinned }) },
      [],
      'image of web in compose.yaml line 3 also pins the digest, and the new one is not known',
      'Give the digest of the new release with --digest sha256:….',
    ],
    [
      'one digest for two images',
      { 'compose.yaml': services({ web: pinned, proxy: pinned.replace('svc', 'proxy') }) },
      ['--service', 'proxy', '--digest', digest('b')],
      'acme/svc and acme/proxy cannot have one digest',
      'Bump the services of each image by themselves',
    ],
    [
      'a variable that also says where data lies',
      {
        'compose.yaml': `${services({ web: 'acme/svc:$V' })}    volumes: ["./data-$V:/data"]\n`,
        '.env': 'A=1\nV=v1.0.0\n',
      },
      [],
      'V in .env line 2 decides more than the version: services.web.volumes.0.source: ',
      'Give the version a variable of its own there',
    ],
    [
      "a variable that is also another publisher's",
      { 'compose.yaml': services({ web: 'acme/svc:$V', db: 'postgres:$V' }), '.env': 'V=16.0.0\n' },
      ['--to', 'v17.0.0'],
      'V in .env line 1 decides more than the version: services.db.image: "postgres:16.0.0" → "postgres:17.0.0"',
      'Give the version a variable of its own there',
    ],
    [
      'a file of 20 MB',
      { 'compose.yaml': `${services({ web: 'acme/svc:v1.0.0' })}${'# padding\n'.repeat(2_097_152)}` },
      [],
      'compose.yaml has 20.0 MiB: at most 5 MiB are read',
      'That is no compose or env file: see what it holds.',
    ],
    [
      'a variable that compose needs as another kind of value',
      { 'compose.yaml': `${services({ web: 'acme/svc:v1.0.0' })}    stop_grace_period: "\${GRACE:?}"\n` },
      [],
      'compose rejects the project',
      'Mend the file until docker compose config accepts it',
    ],
  ])('refuses %s', async (_, files, more, says, next) => {
    const args = more.includes('--to') ? [...more, '--service', 'web'] : [...web, ...more];
    const { exitCode, log, after } = await attempt(files, args);
    expect(log).toContain(says);
    const last = log
      .trimEnd()
      .split('\n')
      .at(-1)
      ?.replace(/(?<=done refused )\([a-z-]+\)/, '(code)');
    expect(last).toContain(`done refused (code): nothing was changed. Next: ${next}`);
    expect(exitCode).toBe(3);
    expect(after).toEqual(files);
  });

  test.each<[string, Where, BumpOptions, string]>([
    ['no docker', 'host', { env: { PATH: '/nonexistent' } }, 'spawn docker ENOENT'],
    [
      'a docker without compose',
      'image',
      { docker: ['--tmpfs', '/usr/local/libexec/docker/cli-plugins'] },
      'unknown flag: --ansi',
    ],
  ])('says so where there is %s', async (_, where, options, why) => {
    await inDirectory(async (directory) => {
      await lay(directory, { 'compose.yaml': services({ web: 'acme/svc:v1.0.0' }) });
      const { exitCode, log } = await bump(directory, web, where, options);
      expect(log).toContain(`there is no docker compose here: ${why}`);
      expect(log).toMatch(
        /done refused \(no-compose\): nothing was changed\. Next: Install docker with its compose plugin, .*\.$/,
      );
      expect(exitCode).toBe(3);
    });
  });

  test('refuses a directory that is mounted read-only, and shows there what it would do', async () => {
    await inDirectory(async (directory) => {
      await lay(directory, { 'compose.yaml': services({ web: 'acme/svc:v1.0.0' }) });
      const there = { docker: ['-v', `${directory}:/there:ro`] };
      const args = [...web, '--dir', '/there'];
      expect(await bump(directory, [...args, '--dry-run'], 'image', there)).toMatchObject({ exitCode: 0 });
      const { exitCode, log } = await bump(directory, args, 'image', there);
      expect(log).toContain('/there/compose.yaml lies in a directory that is read-only');
      expect(log).toMatch(
        /done refused \(read-only\): nothing was changed\. Next: Mount the compose directory writable: /,
      );
      expect(exitCode).toBe(3);
    });
  });

  test('takes the services and files of the settings file, the last of which has the say', async () => {
    const files = {
      'compose.yaml': services({ web: 'acme/svc:not-this-one' }),
      'site.yaml': services({ web: 'acme/svc:v1.0.0' }),
      '.svc-updater.yaml': 'services: [web]\nfiles: [compose.yaml, site.yaml]\n',
    };
    const { exitCode, log, after } = await attempt(files, ['--to', 'v1.1.0']);
    expect(log).toContain('docker compose -f compose.yaml -f site.yaml pull');
    expect(exitCode).toBe(0);
    expect(after).toEqual({ ...files, 'site.yaml': services({ web: 'acme/svc:v1.1.0' }) });
  });

  test('is cancelled by a signal, before anything is written', async () => {
    await inDirectory(async (directory) => {
      const { stdout: docker } = await execa('sh', ['-c', 'command -v docker']);
      const files = { 'compose.yaml': services({ web: 'acme/svc:v1.0.0' }) };
      await lay(directory, files);
      // Somebody types Ctrl-C while compose proves the edit, and it ends at once.
      const wrapper = `#!/bin/sh\nkill -INT $PPID\nsleep 60\ntouch waited\nexec ${docker} "$@"\n`;
      await writeFile(join(directory, 'docker'), wrapper, { mode: 0o755 });
      const { exitCode, log } = await bump(directory, web, 'host', {
        env: { PATH: `${directory}:${process.env.PATH}` },
      });
      expect(log).toMatch(/done cancelled: nothing was changed\. Next: /);
      expect(exitCode).toBe(130);
      expect(await texts(directory)).toEqual({ ...files, docker: wrapper });
    });
  });

  test.each([
    ['the file to be written', 'compose.yaml'],
    ['a file that is only read', '.env'],
  ])('stops where somebody changes %s between planning and writing', async (_, changed) => {
    await inDirectory(async (directory) => {
      const files = { 'compose.yaml': services({ web: 'acme/svc:${V:-v1.0.0}' }), '.env': 'W=1\n' };
      await lay(directory, files);
      const { stdout: docker } = await execa('sh', ['-c', 'command -v docker']);
      // Somebody saves the file while compose proves the edit.
      const wrapper = `#!/bin/sh\necho '# mine' >> ${join(directory, changed)}\nexec ${docker} "$@"\n`;
      await writeFile(join(directory, 'docker'), wrapper);
      await chmod(join(directory, 'docker'), 0o755);
      const { exitCode, log } = await bump(directory, web, 'host', {
        env: { PATH: `${directory}:${process.env.PATH}` },
      });
      const after = await texts(directory);
      const text = after[changed] ?? '';
      expect(log).toContain(`${join(directory, changed)} was changed by somebody else`);
      expect(log).toMatch(/done failed \(file-changed\): nothing was changed\. Next: /);
      expect(exitCode).toBe(4);
      expect(text).toMatch(/(# mine\n)+$/);
      expect({ ...after, [changed]: text.replaceAll('# mine\n', '') }).toEqual({ ...files, docker: wrapper });
    });
  });
});
