// A program of its own, `tools.mjs` in the image: it runs in a container that has mounted what an app keeps, and reads and
// writes there. `tools.mjs look '{"mounts":[{"isFile":false,"root":null}],"owner":null}'`; prints an object of JSON a line, the last one the result.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, readdirSync, readFileSync, rmdirSync, statfsSync, unlinkSync } from 'node:fs';
import { chmod, type FileHandle, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { disk } from '../../files/file-system.ts';
import { strangerOf } from '../../files/strangers.ts';
import { type Archive, readArchive } from './archive.ts';
import {
  type Asked,
  archiveName,
  dataPath,
  type Look,
  type Progress,
  pointPath,
  type Verb,
} from './tools-protocol.ts';
import { countDifferences, type TreeDifference } from './tree-difference.ts';

const verbs = { look, save, restore, compare } satisfies Record<Verb, unknown>;

/** Of the same tree the same tar, but for what `readArchive` sees through. Other times than of change nobody can set. */
const makeTar = [
  ...['--create', '--sort=name', '--format=posix', '--sparse', '--numeric-owner', '--one-file-system'],
  '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime',
];
/** What lies on another file system, tar leaves out, and says so only where it lists all that it packs. */
const tellAll = ['--verbose', '--index-file=/dev/null'];
/** Tar gives them only to files that it makes itself: one that is mounted by itself keeps those that it has. */
const attributesOf = (isFile: boolean): string[] =>
  isFile ? [] : ['--acls', '--xattrs', '--xattrs-include=*'];
const directoryOf = (at: number, isFile: boolean): string => `--directory=${isFile ? '/data' : dataPath(at)}`;
const ofTree = (at: number, isFile: boolean): string[] => [
  directoryOf(at, isFile),
  '--',
  isFile ? `${at}` : '.',
];

const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);

interface Streams {
  input?: Readable;
  /** What it writes goes into this one, and is read from there; it is synced when that ends. */
  file?: FileHandle;
  output?: (from: AsyncIterable<Buffer>) => Promise<void>;
}

/** Runs it to its end. Gives its exit code, what it complains of goes to this one's errors. */
async function run(
  program: string,
  args: readonly string[],
  { input, file, output }: Streams = {},
): Promise<{ code: number | null; said: string }> {
  const child = spawn(program, args, {
    stdio: [input ? 'pipe' : 'ignore', file?.fd ?? (output ? 'pipe' : 'ignore'), 'pipe'],
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-20_000);
    process.stderr.write(text);
  });
  const ended = once(child, 'close');
  const from = file ? whileItGrows(file, () => child.exitCode ?? child.signalCode) : child.stdout;
  await Promise.all([
    // Where it ends before its input, its own words tell why.
    input && child.stdin && pipeline(input, child.stdin).catch(() => {}),
    // The program's own words come first: what it could not write, cannot be read.
    output &&
      from &&
      output(from).catch(async (error) => {
        child.kill();
        await ended;
        throw error;
      }),
    ended,
  ]);
  return { code: child.exitCode, said };
}

const pieceBytes = 1 << 20;
const syncBytes = 64 * pieceBytes;
const growMs = 5;

/** Beside the program that writes it, which needs not wait for the reader; the disk writes meanwhile, too. */
async function* whileItGrows(file: FileHandle, end: () => unknown): AsyncGenerator<Buffer> {
  let synced = Promise.resolve();
  for (let at = 0, syncedTo = 0; ; ) {
    const isWhole = end() !== null;
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, at);
    if (bytesRead === 0 && isWhole) break;
    if (bytesRead < pieceBytes && !isWhole) await sleep(growMs);
    if (bytesRead > 0) yield buffer.subarray(0, bytesRead);
    at += bytesRead;
    if (at - syncedTo < syncBytes) continue;
    syncedTo = at;
    synced = synced.then(() => file.datasync());
    synced.catch(() => {});
  }
  await synced;
  await file.sync();
}

function look({ mounts }: Asked): Look[] {
  return mounts.map((_, at) => {
    const path = dataPath(at);
    const root = lstatSync(path);
    const type = root.isDirectory() ? 'directory' : root.isFile() ? 'file' : 'other';
    const { type: fileSystem } = statfsSync(path);
    const found: Look = { type, fileSystem, root: rootOf(path), bytes: 0, files: 0, inside: [], strange: [] };
    const tell = (names: string[], each: Buffer) =>
      names.length < 5 && names.push(each.toString().slice(path.length) || '/');
    const seen = new Set<number>();
    const walk = (each: Buffer) => {
      const is = unlessGone(() => lstatSync(each));
      if (is === null) return;
      if (is.dev !== root.dev) {
        tell(found.inside, each);
        return;
      }
      found.files++;
      if (strangerOf(each, is) !== null) tell(found.strange, each);
      if (!seen.has(is.ino)) found.bytes += is.blocks * 512;
      if (is.isDirectory()) for (const name of unlessGone(() => namesIn(each)) ?? []) walk(name);
      else if (is.nlink > 1) seen.add(is.ino);
    };
    if (type !== 'other') walk(Buffer.from(path));
    return found;
  });
}

/** Null where it is gone: before an app is stopped, it works on. */
function unlessGone<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Where what is mounted there begins in its file system. The engine follows links, which may lead elsewhere by now. */
function rootOf(path: string): string {
  const mounts = readFileSync('/proc/self/mountinfo', 'latin1').split('\n');
  const [, , , root = ''] = mounts.findLast((line) => line.split(' ')[4] === path)?.split(' ') ?? [];
  return root;
}

function refuseOther({ mounts }: Asked): void {
  for (const [at, { root }] of mounts.entries()) {
    const now = rootOf(dataPath(at));
    if (root !== null && root !== now)
      throw new Error(`what was ${root} is ${now} by now: a link may be in its way`);
  }
}

/** Names are bytes: nobody has to write them in UTF-8. */
const namesIn = (directory: Buffer): Buffer[] =>
  readdirSync(directory, { encoding: 'buffer' }).map((name) =>
    Buffer.concat([directory, Buffer.from('/'), name]),
  );

async function save({ mounts }: Asked): Promise<Archive[]> {
  const archives: Archive[] = [];
  for (const [at, { isFile }] of mounts.entries()) {
    const file = await open(`${pointPath}/${archiveName(at)}`, 'wx+', 0o600);
    archives.push(await treeOf(at, isFile, file));
    await file.close();
  }
  await disk.sync(pointPath);
  return archives;
}

/** Makes a tar of it and reads that: in a file, while it is still growing. */
async function treeOf(at: number, isFile: boolean, file?: FileHandle): Promise<Archive> {
  let archive: Archive | undefined;
  const { code, said } = await run(
    'tar',
    [...makeTar, ...tellAll, ...attributesOf(isFile), '--file=-', ...ofTree(at, isFile)],
    {
      ...(file && { file }),
      output: async (from) => {
        archive = await readArchive(from, file && progress(at));
      },
    },
  );
  if (code !== 0 || archive === undefined) throw new Error(`tar ended with ${code}`);
  if (/file is on a different filesystem/.test(said))
    throw new Error('another file system or subvolume is in it');
  return archive;
}

/** Empties each mount in its place and unpacks into it; gives what it then holds. */
async function restore({ mounts, owner }: Asked): Promise<Archive[]> {
  const archives: Archive[] = [];
  // Before the first file is gone.
  const looks = look({ mounts, owner });
  const [other] = looks.flatMap(({ inside }) => inside);
  if (other !== undefined) throw new Error(`another file system or subvolume is at ${other}`);
  const [strange] = looks.flatMap((each) => each.strange);
  if (strange !== undefined) throw new Error(`owner or group of ${strange} is not mapped into containers`);
  for (const [at, { isFile }] of mounts.entries()) {
    const file = await open(`${pointPath}/${archiveName(at)}`);
    // Somebody may have exchanged the directory since it was looked at.
    if ((await file.stat()).uid !== owner) throw new Error(`${archiveName(at)} belongs to somebody else`);
    if (!isFile) await makeBare(dataPath(at));
    const tell = progress(at);
    const input = file.createReadStream({ highWaterMark: pieceBytes });
    input.on('data', (bytes) => tell(bytes.length));
    const how = ['--extract', '--same-owner', '--same-permissions', '--numeric-owner'];
    // What it could not set, as a label that the kernel makes by itself, is no failure where the tree is the same.
    await run(
      'tar',
      [...how, ...(isFile ? ['--overwrite'] : attributesOf(isFile)), '--file=-', directoryOf(at, isFile)],
      { input },
    );
  }
  const paths = mounts.map((_, at) => dataPath(at));
  // Where it cannot sync these file systems alone, it syncs all.
  if ((await run('sync', ['-f', ...paths])).code !== 0) await run('sync', []);
  for (const [at, { isFile }] of mounts.entries()) archives.push(await treeOf(at, isFile));
  return archives;
}

/** A directory's default list and its set-group-id bit would be handed down to what is unpacked in it. */
async function makeBare(path: string): Promise<void> {
  await run('setfacl', ['-bk', path]);
  await chmod(path, 0o700);
  let names = '';
  await run('getfattr', ['--absolute-names', '--match=^user\\.', path], {
    output: async (from) => {
      names = await text(from);
    },
  });
  for (const name of names.split('\n')) {
    if (name.startsWith('user.')) await run('setfattr', ['--remove', name, path]);
  }
  const { dev } = lstatSync(path);
  const empty = (directory: Buffer) => {
    for (const name of namesIn(directory)) {
      const found = lstatSync(name);
      if (found.dev !== dev) throw new Error(`another file system or subvolume is at ${name}`);
      if (!found.isDirectory()) unlinkSync(name);
      else {
        empty(name);
        rmdirSync(name);
      }
    }
  };
  empty(Buffer.from(path));
}

async function compare({ mounts }: Asked): Promise<TreeDifference[]> {
  const found: TreeDifference[] = [];
  // Into this device tar writes, and reads, no contents.
  const isBy = ['--verbose', '--verbose', '--full-time', '--numeric-owner', '--quoting-style=escape'];
  for (const [at, { isFile }] of mounts.entries()) {
    const lists: string[][] = [[], []];
    const calls = [
      ['--list', ...isBy, `--file=${pointPath}/${archiveName(at)}`],
      [...makeTar, ...isBy, '--file=/dev/null', ...ofTree(at, isFile)],
    ];
    for (const [which, args] of calls.entries()) {
      const { code } = await run('tar', args, {
        output: async (from) => {
          lists[which] = (await buffer(from)).toString('latin1').split('\n');
        },
      });
      // Who works on goes on meanwhile: of what is there now, 1 says that some of it was changed as it was read.
      if (code !== 0 && (code !== 1 || which === 0)) throw new Error(`tar ended with ${code}`);
    }
    found.push(countDifferences(lists[0] ?? [], lists[1] ?? []));
  }
  return found;
}

const everyMs = 500;

/** Tells of the first piece at once, however quick the disk is. */
function progress(at: number): (more: number) => void {
  let bytes = 0;
  let said = Number.NEGATIVE_INFINITY;
  return (more) => {
    bytes += more;
    if (performance.now() - said < everyMs) return;
    said = performance.now();
    say({ at, bytes } satisfies Progress);
  };
}

const [verb, json] = process.argv.slice(2);
if (verb !== undefined && verb in verbs) {
  try {
    const asked = JSON.parse(json ?? '') as Asked;
    refuseOther(asked);
    say(await verbs[verb as Verb](asked));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    // Not by itself: a tar that nobody reads from any more would be waited for.
    process.exit(1);
  }
}
