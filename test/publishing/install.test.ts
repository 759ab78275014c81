import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clientOf } from '../client/self-update/rig.ts';
import { read, root } from '../documents/documents.ts';

const sum = (text: string) => createHash('sha256').update(text).digest('hex');
const own = { x64: 'svc-linux-amd64', arm64: 'svc-linux-arm64' }[process.arch as string] ?? '';
const program = `#!/bin/sh\necho svc v1.5.0\n# ${'x'.repeat(100_000)}\n`;

/** A response without a file. */
type Reply = (response: ServerResponse) => void;
const cutOff: Reply = (response) => {
  response.writeHead(200, { 'content-length': program.length }).write(program.slice(0, 50_000), () => {
    response.destroy();
  });
};
const missing: Reply = (response) => response.writeHead(404).end('not here');

let directory = '';
let server: Server;
let from = '';
let files: Record<string, string | Reply> = {};

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-install-'));
  server = createServer((request, response) => {
    const found = files[request.url?.slice('/v1.5.0/'.length) ?? ''] ?? missing;
    typeof found === 'string' ? response.end(found) : found(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  from = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1.5.0`;
});
afterAll(async () => {
  server.close();
  await rm(directory, { recursive: true });
});

let home = '';
beforeEach(async () => {
  home = await mkdtemp(join(directory, 'home-'));
  await mkdir(join(home, 'tmp'));
  files = release({ [own]: program });
});

const release = (all: Record<string, string>): Record<string, string> => ({
  ...all,
  SHA256SUMS: Object.entries({ 'install.sh': '', ...all })
    .map(([name, text]) => `${sum(text)}  ${name}\n`)
    .join(''),
});

/** Machines with the required programs, each in another variant. */
const machines = {
  'dash, with curl': { programs: ['curl', 'sha256sum'], shell: ['dash'] },
  'bash, with wget': { programs: ['wget', 'sha256sum'], shell: ['bash', '--posix'] },
  'dash, with shasum': { programs: ['curl', 'shasum', 'perl'], shell: ['dash'] },
  busybox: { programs: [], shell: ['busybox', 'sh'] },
};
type Machine = keyof typeof machines;
const basics = ['cat', 'chmod', 'cp', 'cut', 'dirname', 'grep', 'mkdir', 'mktemp', 'mv', 'rm', 'uname'];

/** A directory with the only programs on the PATH. */
async function programsOf(machine: Machine): Promise<string> {
  const { programs } = machines[machine];
  const folder = await mkdtemp(join(directory, 'bin-'));
  const others = machine === 'busybox' ? [] : [...basics, ...programs];
  for (const name of others) await symlink((await execa('which', [name])).stdout, join(folder, name));
  const busybox = await execa('which', ['busybox'], { reject: false });
  if (machine === 'busybox')
    for (const name of [...basics, 'sha256sum', 'wget']) await symlink(busybox.stdout, join(folder, name));
  return folder;
}

async function install(machine: Machine, args: string[] = [], env: Record<string, string> = {}) {
  const [shell = '', ...words] = machines[machine].shell;
  const path = (await execa('which', [shell])).stdout;
  return execa(path, [...words, join(root, 'scripts/install.sh'), ...args], {
    env: { PATH: await programsOf(machine), HOME: home, TMPDIR: join(home, 'tmp'), FROM: from, ...env },
    extendEnv: false,
    reject: false,
    cwd: home,
  });
}

/** All remaining files, by path. */
const left = async (): Promise<string[]> =>
  (await readdir(home, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.name !== 'tmp')
    .map(({ parentPath, name }) => join(parentPath, name).slice(home.length + 1))
    .sort();

const isHere = async (name: string) => (await execa('which', [name], { reject: false })).exitCode === 0;
const here = await Promise.all(Object.values(machines).map(({ shell }) => isHere(shell[0] ?? '')));

describe.each(Object.keys(machines).map((name, at) => [name as Machine, here[at]] as const))(
  'install.sh, run by %s (available: %s)',
  (machine, isThere) => {
    it.skipIf(!isThere)('installs the executable of this machine without root', async () => {
      const { exitCode, stdout, stderr } = await install(machine);
      expect({ exitCode, stderr, stdout }).toEqual({
        ...{ exitCode: 0, stderr: '' },
        stdout: `installed ${own} as ${home}/.local/bin/svc`,
      });
      const svc = join(home, '.local/bin/svc');
      expect((await execa(svc, ['--version'])).stdout).toBe('svc v1.5.0');
      expect((await stat(svc)).mode & 0o777).toBe(0o755);
      expect(await left()).toEqual(['.local', '.local/bin', '.local/bin/svc']);
    });

    it.skipIf(!isThere)('does not install a file that was redirected to http', async () => {
      const target = release({ [own]: program });
      files = { ...files, [own]: (response) => response.writeHead(302, { location: `${from}/plain` }).end() };
      files.plain = target[own] ?? '';
      await expectNothing(await install(machine), new RegExp(`cannot download ${own} from`));
    });

    it.skipIf(!isThere)('rejects a changed file and leaves no files', async () => {
      files = { ...files, [own]: `${program} ` };
      await expectNothing(await install(machine), /does not match its checksum in SHA256SUMS/);
    });
  },
);

async function expectNothing({ exitCode, stderr }: Awaited<ReturnType<typeof install>>, why: RegExp) {
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(why);
  expect(stderr).toMatch(/; nothing was installed$/);
  expect(await left()).toEqual([]);
}

describe('install.sh', () => {
  it.each<[string, Record<string, string | Reply>, RegExp]>([
    ['that is incomplete', { [own]: cutOff }, /cannot download svc-\S+ from|does not match its checksum/],
    [
      'with the checksum of another file',
      { SHA256SUMS: `${sum(program)}  x${own}\n` },
      /does not match its checksum/,
    ],
  ])('rejects a file %s and leaves no files', async (_, others, why) => {
    files = { ...files, ...others };
    await expectNothing(await install('dash, with curl'), why);
  });

  it('rejects a file of another version than the one in the address', async () => {
    files = release({ [own]: program.replace('v1.5.0', 'v1.4.0') });
    const { exitCode, stderr } = await install('dash, with curl');
    expect([exitCode, stderr]).toEqual([1, `install.sh: ${from} contains svc v1.4.0; nothing was installed`]);
    expect(await left()).toEqual(['.local', '.local/bin']);
  });

  it('replaces an older client in the given directory with svc.mjs', async () => {
    files = release({ 'svc.mjs': await clientOf('v1.5.0') });
    await mkdir(join(home, 'my programs'));
    const svc = join(home, 'my programs/svc');
    await writeFile(svc, 'the old one');
    const without = await install('dash, with curl', ['my programs'], { FILE: 'svc.mjs' });
    expect(without.stderr).toContain('svc.mjs does not run on this machine');
    expect(await readFile(svc, 'utf8')).toBe('the old one');
    const PATH = `${await programsOf('dash, with curl')}:${dirname(process.execPath)}`;
    const { stdout } = await install('dash, with curl', ['my programs'], { FILE: 'svc.mjs', PATH });
    expect(stdout).toBe('installed svc.mjs as my programs/svc');
    expect((await execa(svc, ['--version'])).stdout).toBe('svc v1.5.0');
    expect(await left()).toEqual(['my programs', 'my programs/svc']);
  });

  it('does not install a file that does not run on this machine', async () => {
    files = release({ [own]: '#!/nowhere/of-another-libc\n' });
    const { exitCode, stderr } = await install('dash, with curl');
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      `${own} does not run on this machine; with Node 22.12 or later, try FILE=svc.mjs`,
    );
    expect(await left()).toEqual(['.local', '.local/bin']);
  });

  describe('with cosign', () => {
    /** A cosign that records its arguments and exits with this code. */
    const withCosign = async (code: number) => {
      const path = await programsOf('dash, with curl');
      await writeFile(join(path, 'cosign'), `#!/bin/sh\necho "$@" >"$HOME/tmp/asked"\nexit ${code}\n`);
      await chmod(join(path, 'cosign'), 0o755);
      return install('dash, with curl', [], { PATH: `${path}:/nowhere` });
    };
    const told = (text: string) => `{\n  "files": {\n    "${own}": "sha256:${sum(text)}"\n  }\n}\n`;
    beforeEach(() => {
      files = { ...files, 'release.json': told(program), 'release.json.sigstore.json': '{}' };
    });

    it('runs the command of docs/checking.md', async () => {
      expect(await withCosign(0)).toMatchObject({ exitCode: 0, stderr: '' });
      const asked = await readFile(join(home, 'tmp/asked'), 'utf8');
      const typed = /^(cosign verify-blob [^`]*?--certificate-identity[^`]*?)\n```$/m.exec(
        read('docs/checking.md'),
      );
      expect(`cosign ${asked.trim()}`).toBe(typed?.[1]?.replace(/ \\\n */g, ' ').replaceAll("'", ''));
    });

    it.each<[string, number, Record<string, string | Reply>, string]>([
      ['without a trusted signature', 1, {}, 'release.json: invalid signature'],
      [
        'with another checksum in release.json',
        0,
        { 'release.json': told('x') },
        'does not match its checksum in the signed release.json',
      ],
      [
        'without a signature',
        0,
        { 'release.json.sigstore.json': missing },
        'cannot download release.json.sigstore.json',
      ],
    ])('rejects a file %s', async (_, code, others, why) => {
      files = { ...files, ...others };
      const { exitCode, stderr } = await withCosign(code);
      expect(exitCode).toBe(1);
      expect(stderr).toContain(why);
      expect((await left()).filter((name) => name !== 'tmp/asked')).toEqual([]);
    });
  });

  it('is short and uses the repository of package.json', () => {
    const lines = read('scripts/install.sh').split('\n');
    expect(lines.filter((line) => /^(?!#)./.test(line)).length).toBeLessThanOrEqual(22);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(130);
    const { repository } = JSON.parse(read('package.json'));
    const [, place] = /^git\+(.*)\.git$/.exec(repository.url) ?? [];
    expect(read('scripts/install.sh')).toContain(`${place}/releases/latest/download}`);
    const escaped = `${place}/.github/workflows/release.yml`.replaceAll('.', '\\.');
    for (const file of ['scripts/install.sh', 'docs/checking.md'])
      expect(read(file)).toContain(`'^${escaped}@refs/tags/v'`);
  });
});
