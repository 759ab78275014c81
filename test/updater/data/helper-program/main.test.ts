import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod/mini';
import type {
  HelperOperation,
  HelperRequest,
  RequestedMount,
} from '../../../../src/updater/data/helper-program/helper-request.ts';
import {
  type HelperMessage,
  type HelperProgress,
  helperLineSchema,
  helperResultSchemas,
  type MountInspection,
} from '../../../../src/updater/data/helper-program/helper-result.ts';

const repository = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '');
const script = fileURLToPath(new URL('in-container.sh', import.meta.url));
const isRoot = process.getuid?.() === 0;

// Bundled into one file, as in the image, because it starts much faster.
const built = mkdtempSync(join(tmpdir(), 'svc-tools-mjs-'));
const program = join(built, 'tools.mjs');
beforeAll(async () => {
  const entryPoints = [join(repository, 'src/updater/data/helper-program/main.ts')];
  await build({ entryPoints, outfile: program, bundle: true, platform: 'node', format: 'esm' });
});
afterAll(() => rmSync(built, { recursive: true }));

interface Running {
  child: ChildProcess;
  /** The first printed line. */
  first: Promise<string>;
  end: Promise<{ exitCode: number; told: HelperMessage | HelperProgress | null }>;
}

/** Directories with a service's mounts, its restore point and unrelated data (`victim`). */
class Place {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-tools-'));
  readonly root = this.directory('root');
  readonly point = this.directory('point');
  readonly victim = this.directory('victim');
  /** The mounts, in order. */
  readonly trees: readonly string[];

  constructor(count = 1) {
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 }));
    this.directory('data');
    this.trees = Array.from({ length: count }, (_, at) => this.directory(`data/${at}`));
  }

  /** The first mount; most tests have only one. */
  get data(): string {
    return this.trees[0] ?? '';
  }

  get copy(): string {
    return this.copyOf(0);
  }

  copyOf(at: number): string {
    return join(this.point, `${at}`);
  }

  directory(name: string): string {
    const path = join(this.folder, name);
    mkdirSync(path);
    return path;
  }

  /** Mounts an in-memory file system of this size. */
  disk(name: string, size: string): string {
    const path = this.directory(name);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', path]);
    onTestFinished(() => void execFileSync('umount', ['--lazy', path]));
    return path;
  }

  start(verb: HelperOperation, mount: Partial<RequestedMount> = {}, more: Setting = {}): Running {
    const trees = more.data === undefined ? this.trees : [more.data];
    const asked: HelperRequest = {
      mounts: trees.map(() => ({ ...plain, ...mount })),
      ...more.asked,
    };
    const mounts = [
      ...trees.flatMap((path, at) => [path, `/data/${at}`]),
      ...[more.point ?? this.point, '/point', program, '/tools.mjs', this.victim, '/victim'],
      ...(more.mounts ?? []),
    ];
    const command = ['sh', script, this.root, repository, process.execPath, verb, JSON.stringify(asked)];
    const namespaces = ['--mount', '--pid', '--fork', '--kill-child'];
    const child = spawn('unshare', [...namespaces, '--', ...command, ...mounts]);
    onTestFinished(() => void child.kill('SIGKILL'));
    if (verb === 'cold') child.stdin.write('\n');
    const errors = text(child.stderr);
    const lines = createInterface({ input: child.stdout });
    const said: string[] = [];
    lines.on('line', (line) => said.push(line));
    const first = once(lines, 'line').then(([line]) => String(line));
    first.catch(() => {});
    const end = once(child, 'close').then(async ([exitCode]) => {
      expect(await errors).toBe('');
      return { exitCode, told: z.nullable(helperLineSchema).parse(JSON.parse(said.at(-1) ?? 'null')) };
    });
    return { child, first, end };
  }

  /** Runs the program, requires success, and returns the parsed result. */
  async run(
    verb: HelperOperation,
    mount: Partial<RequestedMount> = {},
    more: Setting = {},
  ): Promise<unknown> {
    const { exitCode, told } = await this.start(verb, mount, more).end;
    expect({ exitCode, told }).toEqual({ exitCode: 0, told: { result: expect.anything() } } satisfies object);
    return told && 'result' in told ? helperResultSchemas[verb].parse(told.result) : undefined;
  }

  /** Saves the mounts, and returns the list of everything in the first one. */
  async copyTwice(mount: Partial<RequestedMount> = {}, more: Setting = {}): Promise<string> {
    for (const verb of ['warm', 'cold'] as const)
      expect(await this.start(verb, mount, more).end).toEqual({ exitCode: 0, told: { result: null } });
    return this.all();
  }

  /** Restores the only mount, which then contains exactly this. */
  async restoreTo(before: string, mount: Partial<RequestedMount> = {}, more: Setting = {}): Promise<void> {
    expect(await this.run('restore', mount, more)).toEqual([[]]);
    expect(this.all()).toBe(before);
  }

  async fails(verb: HelperOperation, mount: Partial<RequestedMount> = {}, more: Setting = {}) {
    const { exitCode, told } = await this.start(verb, mount, more).end;
    expect(exitCode).toBe(1);
    return told;
  }

  sh(commands: string, cwd = this.data): string {
    return execFileSync('bash', ['-euc', commands], {
      cwd,
      encoding: 'latin1',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  }

  /** Replaces rsync with a wrapper that logs its arguments in /victim/calls and limits its memory to 5 MB. */
  scarceRsync(): readonly string[] {
    const wrapper = join(this.folder, 'rsync');
    const script = '#!/bin/bash\necho "$@" >>/victim/calls\nulimit -d 5000\nexec /real/rsync "$@"\n';
    writeFileSync(wrapper, script, { mode: 0o755 });
    return ['/usr/bin/rsync', '/real/rsync', wrapper, '/usr/bin/rsync'];
  }

  /** Fills each directory with the same files of every kind. */
  fill(paths: readonly string[]): void {
    const first = this.directory('every-kind');
    this.sh(everyKind, first);
    for (const path of paths) this.sh(`cp --archive . '${path}'`, first);
  }

  /** Lists everything that a copy must preserve, with programs other than those that copy. */
  all(path = this.data, entries = '.'): string {
    const facts = '%p %y %m %U %G %n %l';
    return this.sh(
      `find ${entries} \\( -type d -printf '%p %y %m %U %G %T@\\n' -o -printf '${facts} %s %T@\\n' \\) | sort
       getfacl --recursive --physical --numeric ${entries} | sort
       getfattr --recursive --no-dereference --dump --match=- ${entries} | sort
       find ${entries} -type f -print0 | sort --zero-terminated | xargs --null --no-run-if-empty sha256sum`,
      path,
    );
  }
}

const plain: RequestedMount = {
  isFile: false,
  root: null,
  device: null,
  excluded: [],
  hasRsyncAttributes: true,
};

interface Setting {
  asked?: Partial<HelperRequest>;
  data?: string;
  point?: string;
  /** Sources and targets, alternating. */
  mounts?: readonly string[];
}

const everyKind = `
  echo text >plain; chmod 4751 plain; chown 12:34 plain
  setfacl --modify u:77:rw plain; setfattr --name user.note --value x plain; setfattr --name trusted.note --value y plain
  mkdir folder folder/sub; setfacl --default --modify g:88:rx folder; chmod 2770 folder
  setfacl --modify u:99:rwx .; setfattr --name user.top --value z .; chown 55:66 .
  ln plain folder/linked; ln -s /nowhere dangling; ln -s plain link; chown --no-dereference 7:8 link; mkfifo fifo; mknod device c 1 3
  python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")' 2>/dev/null || perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "socket", Listen => 1)'
  truncate --size 1M sparse; echo end >>sparse; touch "$(printf 'not\\377utf')" "$(printf 'line\\nbreak')" -- '-n' '--help'
  touch --date '2001-02-03 04:05:06.123456789' plain folder/sub .`;

describe.skipIf(!isRoot)('helper program', () => {
  const changes: Record<string, string> = {
    changed: `
      echo more >>plain; rm sparse; truncate --size 2M sparse; echo new >new; setfacl --remove-all .
      setfattr --name user.more --value x .; setfattr --name user.more --value x plain
      setfacl --default --modify u:1:r .; touch --date 2001-02-03 plain folder/sub .
      chown --recursive --no-dereference 1:1 .`,
    emptied:
      'find . -mindepth 1 -delete; setfacl --remove-all .; setfattr --remove user.top .; chown 0:0 .; chmod 700 .',
    'of other kinds':
      'rm plain fifo; mkdir plain fifo; touch plain/x; rm -r folder; ln -s /victim folder; rm link; touch link',
  };
  it(`restores every kind of file exactly, in a tree that is ${Object.keys(changes).join(', ')}`, async () => {
    const place = new Place(Object.keys(changes).length);
    place.fill(place.trees);
    writeFileSync(join(place.victim, 'note'), 'note');
    const before = place.trees.map((tree) => place.all(tree));
    const blocks = lstatSync(join(place.data, 'sparse')).blocks;
    await place.copyTwice();
    expect(place.trees.map((_, at) => place.all(place.copyOf(at)))).toEqual(before);
    expect(lstatSync(join(place.copy, 'sparse')).blocks).toBeLessThanOrEqual(blocks + 8);
    const hashes = (await place.run('hash')) as string[];
    for (const [at, [name, commands]] of Object.entries(changes).entries()) {
      place.sh(commands, place.trees[at]);
      expect(place.all(place.trees[at]), name).not.toBe(before[at]);
    }
    expect(await place.run('restore')).toEqual(before.map(() => []));
    for (const [at, name] of Object.keys(changes).entries())
      expect(place.all(place.trees[at]), name).toBe(before[at]);
    expect(place.sh('ls', place.victim)).toBe('note\n');
    expect(await place.run('hash')).toEqual(hashes);
    expect(hashes).toEqual(before.map(() => expect.stringMatching(/^[0-9a-f]{64}$/)));
  });

  it('computes a different hash after every change of a copy', async () => {
    const changes = [
      'echo >>plain',
      'touch fifo',
      'setfattr --name user.note --value w plain',
      'chmod 711 folder',
      'chown 9:9 .',
    ];
    const place = new Place(changes.length);
    const copies = changes.map((_, at) => place.copyOf(at));
    for (const copy of copies) mkdirSync(copy);
    place.fill(copies);
    const before = (await place.run('hash')) as string[];
    for (const [at, commands] of changes.entries()) place.sh(commands, place.copyOf(at));
    const after = (await place.run('hash')) as string[];
    expect(changes.filter((_, at) => after[at] === before[at])).toEqual([]);
  });

  it('neither copies nor removes excluded paths, even with special characters in their names', async () => {
    const place = new Place();
    const excluded = ['plain', 'sub/*', 'a[b]?', String.raw`back\slash`, String.raw`both\*`, '- x', 'ä'];
    const own = excluded.map((name) => join(place.data, name, 'own'));
    for (const name of excluded) {
      mkdirSync(join(place.data, name), { recursive: true });
      writeFileSync(join(place.data, name, 'own'), 'old');
      for (const like of ['plainer', 'sub/x', 'abc', 'backslash', 'bothx', 'x', 'below']) {
        mkdirSync(join(place.data, like, name), { recursive: true });
        writeFileSync(join(place.data, like, name, 'saved'), 'old');
      }
    }
    expect(await place.run('look', { excluded })).toMatchObject([{ inside: [], files: expect.any(Number) }]);
    await place.copyTwice({ excluded });
    const saved = 'find . -name saved | sort';
    expect(place.sh(saved, place.copy)).toBe(place.sh(saved));
    expect(place.sh('find . -name own', place.copy)).toBe('');
    for (const file of own) writeFileSync(file, 'new');
    rmSync(join(place.data, 'below'), { recursive: true });
    expect(await place.run('restore', { excluded })).toEqual([[]]);
    for (const file of own) expect(readFileSync(file, 'utf8'), file).toBe('new');
    expect(place.sh(saved, place.copy)).toBe(place.sh(saved));
  });

  it('copies changes made after the warm copy, and restores the state before them', async () => {
    const contents = 'head --bytes 200000 /dev/urandom';
    const apart = `${contents} >y; ${contents} >z`;
    const changes: [what: string, before: string, change: string][] = [
      ['a new name for a file', apart, 'ln z a'],
      ['a new name for a file that changed', apart, 'ln z a; echo new >>z'],
      ['a name given to another file', apart, 'rm y; ln z y'],
      ['two files where one had two names', `${contents} >y; ln y z`, `rm z; ${apart}`],
      ['names that were exchanged', apart, 'mv y x; mv z y; mv x z'],
      ['a hole in place of content', apart, 'fallocate --punch-hole --offset 0 --length 65536 y; touch y'],
      ['content after a longer hole', apart, 'truncate --size 3M y; echo end >>y'],
      ['another kind of file', apart, 'rm y; mkdir y; mv z y'],
    ];
    const place = new Place(changes.length);
    const tree = (at: number) => place.trees[at] ?? '';
    const all = (folder: 'data' | 'point') => place.all(join(place.folder, folder), '*');
    for (const [at, [, before]] of changes.entries()) place.sh(before, tree(at));
    expect(await place.start('warm').end).toMatchObject({ told: { result: null } });
    const old = all('data');
    place.sh('cp --archive point kept', place.folder);
    for (const [at, [, , change]] of changes.entries()) place.sh(change, tree(at));
    expect(await place.start('cold').end).toMatchObject({ told: { result: null } });
    expect(all('point')).toBe(all('data'));
    place.sh('rm -rf point/*; cp --archive kept/. point', place.folder);
    expect(await place.run('restore')).toEqual(changes.map(() => []));
    expect(all('data')).toBe(old);
  });

  it('restores and copies a directory with very many names that exist on only one side', async () => {
    const place = new Place();
    const mounts = place.scarceRsync();
    const manyNames = (path: string) => {
      mkdirSync(path, { recursive: true });
      for (let at = 0; at < 20_000; at++) writeFileSync(`${path}/${'x'.repeat(195)}${at}`, '');
      mkdirSync(join(path, 'sub/sub'), { recursive: true });
    };
    mkdirSync(join(place.data, 'cache'));
    writeFileSync(join(place.data, 'cache/file'), 'old');
    const before = await place.copyTwice({}, { mounts });
    manyNames(join(place.copy, 'cache'));
    expect(await place.start('cold', {}, { mounts }).end).toMatchObject({ told: { result: null } });
    expect(place.all(place.copy)).toBe(before);
    manyNames(join(place.data, 'cache'));
    await place.restoreTo(before, {}, { mounts });
  });

  it('removes files that a killed restore had moved but not yet removed', async () => {
    const place = new Place();
    writeFileSync(join(place.data, 'file'), 'old');
    const before = await place.copyTwice();
    place.sh(
      'mkdir --parents .removed-abcdef/current/sub .removed-abcdef/0; touch .removed-abcdef/current/x',
    );
    await place.restoreTo(before);
  });

  it('removes new directories from a disk without room for another directory', async () => {
    const place = new Place();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=30', 'none', place.data]);
    onTestFinished(() => void execFileSync('umount', ['--lazy', place.data]));
    writeFileSync(join(place.data, 'file'), 'old');
    const before = await place.copyTwice();
    place.sh('mkdir --parents new/sub; at=0; while touch new/sub/$at 2>/dev/null; do at=$((at + 1)); done');
    await place.restoreTo(before);
  });

  it('reads contents only once in the cold copy if files have several hard links', async () => {
    const place = new Place();
    place.sh('echo text >plain; echo linked >a; ln a b; ln a c');
    const mounts = place.scarceRsync();
    await place.copyTwice({}, { mounts });
    place.sh('rm c; echo linked >c; echo more >>b');
    expect(await place.start('cold', {}, { mounts }).end).toMatchObject({ exitCode: 0 });
    expect(place.all(place.copy)).toBe(place.all());
    expect(readFileSync(join(place.victim, 'calls'), 'latin1')).not.toContain('--checksum');
  });

  it('keeps a process that still has the old file open from writing to the restored file', async () => {
    const place = new Place();
    for (const name of ['secret', 'linked', 'equal']) writeFileSync(join(place.data, name), name);
    chmodSync(join(place.data, 'secret'), 0o600);
    place.sh('ln linked other');
    const before = await place.copyTwice();
    place.sh('for name in secret linked; do printf "%s" NEW >$name; done; chmod 666 *');
    const held = ['secret', 'linked'].map((name) => openSync(join(place.data, name), 'r+'));
    onTestFinished(() => held.forEach(closeSync));
    const { ino } = statSync(join(place.data, 'equal'));
    expect(await place.run('restore')).toEqual([[]]);
    for (const file of held) {
      expect(readFileSync(file, 'latin1')).toBe('NEW');
      writeSync(file, 'written');
    }
    expect(place.all()).toBe(before);
    expect(statSync(join(place.data, 'equal')).ino).toBe(ino);
  });

  it('saves and restores extended attributes that rsync itself uses', async () => {
    const place = new Place();
    const name = 'user.rsync.%stat';
    const set = `setfattr --name=${name} --value`;
    place.sh(`echo same >kept; echo old >changed; ${set} '100644 0,0 1:2' kept changed .`);
    await place.copyTwice();
    expect(place.all(place.copy)).toBe(place.all());
    expect(place.all(place.copy).split(name)).toHaveLength(4);
    const before = place.all();
    const hashes = await place.run('hash');
    place.sh(`echo new >changed; ${set} wrong kept .; setfattr --name=user.rsync.%aacl --value=x kept`);
    await place.restoreTo(before);
    place.sh(`${set} wrong kept`, place.copy);
    expect(await place.run('hash')).not.toEqual(hashes);
  });

  it('keeps the current attributes that rsync uses if an older restore point does not contain them', async () => {
    const older = { hasRsyncAttributes: false };
    const place = new Place();
    place.sh('echo old >file; setfattr --name=user.rsync.%stat --value=x file .');
    await place.copyTwice(older);
    expect(place.all(place.copy)).not.toContain('user.rsync');
    const before = place.all();
    place.sh('echo new >file');
    await place.restoreTo(before, older);
  });

  it('measures the disk space that a copy needs and the bytes that it reads', async () => {
    const place = new Place();
    place.sh('truncate --size 1G hole; head --bytes 100000 /dev/zero >file; ln file linked; ln -s x link');
    const [look] = (await place.run('look')) as MountInspection[];
    expect(look?.bytes).toBeLessThan(200_000);
    expect(look?.length).toBeGreaterThanOrEqual(2 ** 30 + 100_000);
    expect(look?.length).toBeLessThan(2 ** 30 + 200_000);
  });

  it('measures very many hard-linked files in bounded memory', async () => {
    const place = new Place();
    const [count, length] = [51_000, 10_000];
    for (let at = 0; at < count; at++) {
      const name = join(place.data, `${at}`);
      writeFileSync(name, '');
      truncateSync(name, length);
      linkSync(name, `${name}-linked`);
    }
    const [look] = (await place.run('look')) as MountInspection[];
    const own = statSync(place.data).blocks * 512;
    expect(look).toMatchObject({ files: 2 * count + 1, length: count * length + own, bytes: own });
  });

  it('detects a change with unchanged size and times only in the cold copy', async () => {
    const place = new Place();
    const file = join(place.data, 'file');
    writeFileSync(file, 'old');
    utimesSync(file, 1, 1);
    await place.start('warm').end;
    writeFileSync(file, 'new');
    utimesSync(file, 1, 1);
    await place.start('warm').end;
    expect(readFileSync(join(place.copy, 'file'), 'utf8')).toBe('old');
    await place.start('cold').end;
    expect(readFileSync(join(place.copy, 'file'), 'utf8')).toBe('new');
  });

  it('removes directories nested too deeply for a path, and follows no symbolic link in them', async () => {
    const place = new Place();
    writeFileSync(join(place.data, 'file'), 'old');
    writeFileSync(join(place.victim, 'note'), 'note');
    const before = await place.copyTwice();
    execFileSync(process.execPath, ['-e', deepTree, place.data, '1500']);
    await place.restoreTo(before);
    expect(place.sh('ls', place.victim)).toBe('note\n');
  });

  it('reports sizes, inner mounts, and paths that are too long to copy, for which the cold copy fails', async () => {
    const place = new Place();
    execFileSync(process.execPath, ['-e', deepTree, place.data, '50']);
    onTestFinished(() => void execFileSync('rm', ['-rf', place.data]));
    const inside = place.directory('inside');
    mkdirSync(join(place.data, 'mount'));
    place.sh('head --bytes 100000 /dev/zero >file; ln file linked');
    const mounts = [inside, '/data/0/mount'];
    const [look] = (await place.run('look', {}, { mounts })) as MountInspection[];
    expect(look).toMatchObject({ type: 'directory', inside: ['/mount'], strange: [] });
    expect(look?.bytes).toBeLessThan(900_000);
    expect(look?.root).toMatch(/\/data\/0$/);
    expect(look?.device).toMatch(/^\d+:\d+$/);
    expect(look?.tooLong.length).toBeGreaterThan(0);
    expect(look?.tooLong[0]).toMatch(/^\/a{200}/);
    const excluded = ['mount'];
    expect(await place.run('look', { excluded }, { mounts })).toMatchObject([{ inside: [] }]);
    expect(await place.start('warm').end).toMatchObject({ exitCode: 0 });
    expect(await place.fails('cold')).toMatchObject({
      code: 'failed',
      error: expect.stringMatching(/^rsync failed with exit code 23: .*max-path/),
    });
  });

  it('restores a single-file mount in place', async () => {
    const place = new Place();
    const data = join(place.folder, 'config.json');
    writeFileSync(data, '{"old":1}');
    chmodSync(data, 0o640);
    const { ino, mtimeMs } = statSync(data);
    await place.copyTwice({ isFile: true }, { data });
    const hash = await place.run('hash', { isFile: true }, { data });
    appendFileSync(data, 'new');
    chmodSync(data, 0o666);
    execFileSync('setfattr', ['--name=user.new', '--value=x', data]);
    expect(await place.run('restore', { isFile: true }, { data })).toEqual([[]]);
    expect(readFileSync(data, 'utf8')).toBe('{"old":1}');
    expect(statSync(data)).toMatchObject({ ino, mtimeMs, mode: 0o100640 });
    expect(execFileSync('getfattr', ['--match=-', data], { encoding: 'utf8' })).toBe('');
    expect(await place.run('hash', { isFile: true }, { data })).toEqual(hash);
  });

  it('refuses to restore a mount that contains another mount, before changing anything', async () => {
    const place = new Place();
    mkdirSync(join(place.data, 'mount'));
    mkdirSync(place.copy);
    writeFileSync(join(place.data, 'new'), '');
    const inside = place.directory('inside');
    const told = await place.fails('restore', {}, { mounts: [inside, '/data/0/mount'] });
    expect(told).toMatchObject({ code: 'failed', at: '/data/0', error: expect.stringContaining('/mount') });
    expect(place.sh('ls')).toBe('mount\nnew\n');
  });

  it('refuses to restore from a missing copy', async () => {
    const place = new Place();
    writeFileSync(join(place.data, 'new'), '');
    expect(await place.fails('restore')).toMatchObject({ code: 'failed' });
    expect(place.sh('ls')).toBe('new\n');
  });

  it('rejects a mount whose root or device has changed, for copies, restores and inspections', async () => {
    const place = new Place();
    const root = [{ root: '/elsewhere' }, /^mount 0 is now \/\S*data\/0 instead of \/elsewhere$/] as const;
    const device = [{ device: '99:99' }, /^mount 0 is now on device \d+:\d+ instead of 99:99$/] as const;
    const asked = { warm: root, cold: device, restore: root, look: device };
    for (const [verb, [mount, error]] of Object.entries(asked)) {
      const told = await place.fails(verb as HelperOperation, mount);
      expect(told).toEqual({ code: 'changed', at: '/data/0', error: expect.stringMatching(error) });
    }
  });

  it('aborts the warm copy if less than 5 % of a disk is free', async () => {
    const place = new Place();
    const point = place.disk('small', '20m');
    place.sh('truncate --size 1T huge');
    const { first, end } = place.start('warm', {}, { point });
    await first;
    place.sh('head --bytes 30M /dev/zero >fill 2>/dev/null || true', point);
    expect(await end).toMatchObject({
      exitCode: 1,
      told: {
        code: 'no-space',
        at: '/point',
        error: expect.stringMatching(/^less than 5 % .*: \d+ MB of 20 MB free$/),
      },
    });
  });

  it('exits immediately if its standard input closes', async () => {
    const place = new Place();
    place.sh('truncate --size 1T huge');
    const { child, first, end } = place.start('warm');
    expect(JSON.parse(await first)).toEqual({ bytes: expect.any(Number) });
    child.stdin?.end();
    expect(await end).toMatchObject({ exitCode: 1, told: { bytes: expect.any(Number) } });
  });

  it('does not mistake a file name for an error message of a program', async () => {
    const place = new Place();
    const name = 'rsync: write failed: No space left on device (28)';
    place.sh(
      `perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => shift, Listen => 1) or die' '${name}'`,
    );
    symlinkSync('/victim', join(place.data, 'tar: .: file is on a different filesystem; not dumped'));
    await place.copyTwice();
    expect(place.all(place.copy)).toBe(place.all());
    await place.run('hash');
    rmSync(join(place.data, name));
    expect(await place.run('restore')).toEqual([[]]);
  });

  it('lists the ports on which programs listen', async () => {
    const [first, second] = [createServer(), createServer()];
    onTestFinished(() => void first.close());
    onTestFinished(() => void second.close());
    const listen = async (server: Server, host: string) => {
      server.listen(0, host);
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    };
    const open = [await listen(first, '127.0.0.1'), await listen(second, '::1')];
    const ports = async () => (await new Place().run('ports', {}, { asked: { mounts: [] } })) as number[];
    const all = await ports();
    expect(all).toEqual(expect.arrayContaining(open));
    expect(all).toEqual([...new Set(all)].toSorted((a, b) => a - b));
    // The port of a client is in use, but no program listens on it.
    const client = connect(open[0] ?? 0, '127.0.0.1');
    onTestFinished(() => void client.destroy());
    await once(client, 'connect');
    expect(await ports()).not.toContain(client.localPort);
  });
});

/** Creates directories nested too deeply for a path, with a link to /victim in every 100th. */
const deepTree = `
  const fs = require('node:fs');
  process.chdir(process.argv[1]);
  for (let depth = 0; depth < Number(process.argv[2]); depth++) {
    fs.mkdirSync('a'.repeat(200));
    process.chdir('a'.repeat(200));
    if (depth % 100 === 30) { fs.symlinkSync('/victim', 'link'); fs.writeFileSync('file', ''); fs.mkdirSync('more'); }
  }`;
