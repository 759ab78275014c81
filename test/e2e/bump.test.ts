// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { chmod, link, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { type BumpOptions, bump, inDirectory, type Where } from './support/bump.ts';

const services = (texts: Record<string, string>) =>
  `services:\n${Object.entries(texts)
    .map(([name, image]) => `  ${name}:\n    image: ${image}\n`)
    .join('')}`;
const web = ['--to', 'v1.1.0', '--service', 'web'];

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

describe('bump', () => {
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
    await inDirectory(async (directory) => {
      await lay(directory, files);
      const { exitCode, log } = await bump(directory, web, 'image');
      expect(log).toContain('compose.yaml line 3: v1.0.0 → v1.1.0');
      expect(exitCode).toBe(0);
      const moved = files['compose.yaml'].replace('v1.0.0', 'v1.1.0');
      expect(await texts(directory)).toEqual({ ...files, 'compose.yaml': moved });
    });
  });

  test.each<[string, Where, BumpOptions, string]>([
    ['no docker', 'host', { env: { PATH: '/nonexistent' } }, 'spawn docker ENOENT'],
    [
      'a docker without compose',
      'image',
      { docker: ['--tmpfs', '/usr/local/libexec/docker/cli-plugins'] },
      'unknown flag: --ansi',
    ],
  ])('is refused with the reason if there is %s', async (_, where, options, why) => {
    await inDirectory(async (directory) => {
      await lay(directory, { 'compose.yaml': services({ web: 'acme/svc:v1.0.0' }) });
      const { exitCode, log } = await bump(directory, web, where, options);
      expect(log).toContain(`docker compose is not installed: ${why}`);
      expect(log).toMatch(
        /done refused \(no-compose\): nothing was changed\. Next: Use the svc-updater image, or install docker .*\.$/,
      );
      expect(exitCode).toBe(3);
    });
  });

  test('refuses a directory that is mounted read-only, but accepts the directory for a dry run', async () => {
    await inDirectory(async (directory) => {
      await lay(directory, { 'compose.yaml': services({ web: 'acme/svc:v1.0.0' }) });
      const there = { docker: ['-v', `${directory}:/there:ro`] };
      const args = [...web, '--dir', '/there'];
      expect(await bump(directory, [...args, '--dry-run'], 'image', there)).toMatchObject({ exitCode: 0 });
      const { exitCode, log } = await bump(directory, args, 'image', there);
      expect(log).toContain('/there/compose.yaml is in a read-only directory');
      expect(log).toMatch(
        /done refused \(read-only\): nothing was changed\. Next: Mount the compose directory without :ro, /,
      );
      expect(exitCode).toBe(3);
    });
  });

  test('warns before writing that another hard link of the file keeps the old content, and has nothing to do when run again', async () => {
    await inDirectory(async (directory) => {
      const files = { 'compose.yaml': services({ web: 'acme/svc:v1.0.0' }) };
      await lay(directory, files);
      await link(join(directory, 'compose.yaml'), join(directory, 'second.yaml'));
      const { exitCode, log } = await bump(directory, web, 'host');
      expect(log).toMatch(/compose\.yaml has another hard link, which keeps the old content\n.* write /);
      expect(exitCode).toBe(0);
      expect(await texts(directory)).toEqual({
        'compose.yaml': services({ web: 'acme/svc:v1.1.0' }),
        'second.yaml': files['compose.yaml'],
      });
      const again = await bump(directory, web, 'host');
      expect(again.log).toMatch(/done unchanged: nothing to do$/);
      expect(again.exitCode).toBe(0);
    });
  });

  test('is cancelled by a signal before any file is written', async () => {
    await inDirectory(async (directory) => {
      const { stdout: docker } = await execa('sh', ['-c', 'command -v docker']);
      const files = { 'compose.yaml': services({ web: 'acme/svc:v1.0.0' }) };
      await lay(directory, files);
      // Simulates Ctrl-C while compose verifies the edit. The run must exit immediately.
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
  ])('fails if another process changes %s between planning and writing', async (_, changed) => {
    await inDirectory(async (directory) => {
      const files = { 'compose.yaml': services({ web: 'acme/svc:${V:-v1.0.0}' }), '.env': 'W=1\n' };
      await lay(directory, files);
      const { stdout: docker } = await execa('sh', ['-c', 'command -v docker']);
      // Simulates a user who saves the file while compose verifies the edit.
      const wrapper = `#!/bin/sh\necho '# mine' >> ${join(directory, changed)}\nexec ${docker} "$@"\n`;
      await writeFile(join(directory, 'docker'), wrapper);
      await chmod(join(directory, 'docker'), 0o755);
      const { exitCode, log } = await bump(directory, web, 'host', {
        env: { PATH: `${directory}:${process.env.PATH}` },
      });
      const after = await texts(directory);
      const text = after[changed] ?? '';
      expect(log).toContain(`${join(directory, changed)} was changed by another user or process`);
      expect(log).toMatch(/done failed \(file-changed\): nothing was changed\. Next: /);
      expect(exitCode).toBe(4);
      expect(text).toMatch(/(# mine\n)+$/);
      expect({ ...after, [changed]: text.replaceAll('# mine\n', '') }).toEqual({ ...files, docker: wrapper });
    });
  });
});
