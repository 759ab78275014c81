// Source of the program `tools.mjs` in the updater's image. Example: `tools.mjs look '{"mounts":[]}'`. In a helper
// container, it inspects, copies or restores the mounts of one service. It prints one JSON object per line; the last
// line is a `HelperMessage`.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { setPriority } from 'node:os';
import { findUnmappedOwner } from '../../../core/files/unmapped-owner.ts';
import { readIfExists, walkTree } from '../../../core/files/walk.ts';
import { readMountAt } from '../../../core/mounts/mount-table.ts';
import { controlProcesses } from './control-processes.ts';
import { equalizeContents } from './equalize-contents.ts';
import {
  copyPathOf,
  dataMountPathOf,
  type HelperOperation,
  type HelperRequest,
  type RequestedMount,
  restorePointMountPath,
} from './helper-request.ts';
import type {
  DiskProbeResult,
  HelperMessage,
  HelperProgress,
  MountInspection,
  MountTables,
} from './helper-result.ts';
import { findReachableTargets } from './reach.ts';
import {
  formatProgramError,
  isDiskFull,
  killChildProcesses,
  type ProgramResult,
  type RsyncPaths,
  runProgram,
  runRsync,
  syncFileSystems,
} from './rsync.ts';

const verbs = {
  ...{ look, probe, warm, cold, hash, restore, ports, tables },
  reach: ({ targets = [] }: HelperRequest) => findReachableTargets(targets),
} satisfies Record<HelperOperation, unknown>;

const mostNames = 5;
/** Maximum number of remembered hard-linked files, to limit memory use. */
const mostLinked = 50_000;
const shownLength = 300;
const everyMs = 500;
const lowestShare = 0.05;
const fullDisk = 'the disk is full or a quota is exceeded';

/**
 * rsync option for comparing files. A bad release could craft a file that matches another under rsync's default
 * checksum, xxHash.
 */
const untrusted = '--checksum-choice=md5';
/** With these options, equal trees give equal archives. Holes are archived as zeros. */
const tarArgs = [
  ...'--create --sort=name --format=posix --numeric-owner --acls --xattrs --xattrs-include=* --file=-'.split(
    ' ',
  ),
  '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime',
];

type HelperErrorCode = Extract<HelperMessage, { error: string }>['code'];

class HelperError extends Error {
  readonly code: HelperErrorCode;
  readonly at: string | undefined;

  /** @param at - path, in this container, of the mount that caused the error */
  constructor(code: HelperErrorCode, message: string, at?: string) {
    super(message);
    this.code = code;
    this.at = at;
  }
}

const printMessage = (value: HelperMessage | HelperProgress, then?: () => void) =>
  process.stdout.write(`${JSON.stringify(value)}\n`, then);

async function look({ mounts }: HelperRequest): Promise<MountInspection[]> {
  const looks: MountInspection[] = [];
  for (const [at, mount] of mounts.entries()) looks.push(await inspectMount(at, mount));
  return looks;
}

async function inspectMount(at: number, { excluded }: RequestedMount): Promise<MountInspection> {
  const path = dataMountPathOf(at);
  const own = fs.lstatSync(path);
  const type = own.isDirectory() ? 'directory' : own.isFile() ? 'file' : 'other';
  const { root, device, below } = readMountAt(path);
  const found = { bytes: 0, length: 0, files: 0 };
  const names = { inside: [] as string[], strange: [] as string[], tooLong: [] as string[] };
  const add = (list: string[], name: string) =>
    list.length < mostNames && !list.includes(name) && list.push(name);
  const isExcluded = (name: string) => excluded.some((each) => `${name}/`.startsWith(`/${each}/`));
  for (const name of below) if (!isExcluded(name)) add(names.inside, name);
  const linked = new Set<number>();
  for await (const { name, full, status } of type === 'other' ? [] : walkTree(path, excluded)) {
    if (status === null) add(names.tooLong, shortenName(name));
    else if (status.dev !== own.dev) add(names.inside, shortenName(name));
    else {
      found.files++;
      if (findUnmappedOwner(full, status) !== null) add(names.strange, shortenName(name));
      if (linked.has(status.ino)) continue;
      const isLinked = !status.isDirectory() && status.nlink > 1;
      const canRemember = linked.size < mostLinked;
      // If a hard-linked file is not remembered, each of its names counts as a fraction of the file.
      const share = isLinked && !canRemember ? 1 / status.nlink : 1;
      const bytes = status.blocks * 512;
      found.bytes += share * bytes;
      found.length += share * (status.isFile() ? Math.max(status.size, bytes) : bytes);
      if (isLinked && canRemember) linked.add(status.ino);
    }
  }
  const [bytes, length] = [found.bytes, found.length].map(Math.ceil) as [number, number];
  return { type, root, device, ...found, bytes, length, ...readDiskSpace(path), ...names };
}

const shortenName = (name: Buffer): string => {
  const text = name.toString() || '/';
  return text.length > shownLength ? `${text.slice(0, shownLength)}…` : text;
};

function readDiskSpace(path: string): Pick<MountInspection, 'fileSystem' | 'size' | 'free' | 'freeFiles'> {
  const { type, blocks, bavail, bsize, files, ffree } = fs.statfsSync(path);
  // A file system that does not limit the number of files reports 0.
  const freeFiles = files === 0 ? Number.MAX_SAFE_INTEGER : ffree;
  return { fileSystem: type, size: blocks * bsize, free: bavail * bsize, freeFiles };
}

/**
 * Rejects a mount that has changed since an earlier `look` request. The engine follows symbolic links in mount sources,
 * and these links may now lead elsewhere.
 */
function requireUnchangedMounts({ mounts }: HelperRequest): void {
  for (const [at, { root, device }] of mounts.entries()) {
    const path = dataMountPathOf(at);
    const now = readMountAt(path);
    if (root !== null && root !== now.root)
      throw new HelperError('changed', `mount ${at} is now ${now.root} instead of ${root}`, path);
    if (device !== null && device !== now.device)
      throw new HelperError(
        'changed',
        `mount ${at} is now on device ${now.device} instead of ${device}`,
        path,
      );
  }
}

async function probe(): Promise<DiskProbeResult> {
  const folder = fs.mkdtempSync(`${restorePointMountPath}/.probe-`);
  try {
    const path = `${folder}/file`;
    const fd = fs.openSync(path, 'wx', 0o600);
    fs.writeSync(fd, 'x', 1 << 20);
    fs.fsyncSync(fd);
    fs.closeSync(fd);
    const works = async (program: string, ...args: string[]) =>
      (await runProgram(program, [...args, path])).code === 0;
    const tries: Record<string, () => boolean | Promise<boolean>> = {
      'sparse files': () => fs.statSync(path).blocks * 512 < fs.statSync(path).size,
      'file owners': () => {
        fs.chownSync(path, 12345, 12345);
        return fs.statSync(path).uid === 12345 && fs.statSync(path).gid === 12345;
      },
      'file modes': () => {
        fs.chmodSync(path, 0o640);
        return (fs.statSync(path).mode & 0o7777) === 0o640;
      },
      'extended attributes': async () =>
        (await works('setfattr', '--name=user.probe', '--value=x')) &&
        (await works('getfattr', '--absolute-names', '--name=user.probe')),
      'access-control lists': async () =>
        (await works('setfacl', '--modify=u:12345:r')) &&
        (await works('getfattr', '--absolute-names', '--name=system.posix_acl_access')),
    };
    const missing: string[] = [];
    for (const [word, holds] of Object.entries(tries)) {
      const isHeld = await Promise.resolve()
        .then(holds)
        .catch(() => false);
      if (!isHeld) missing.push(word);
    }
    return {
      missing,
      device: readMountAt(restorePointMountPath).device,
      ...readDiskSpace(restorePointMountPath),
    };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

async function warm({ mounts }: HelperRequest): Promise<null> {
  const full = new AbortController();
  const watch = () => {
    for (const path of [restorePointMountPath, ...mounts.map((_, at) => dataMountPathOf(at))]) {
      const { size, free } = readDiskSpace(path);
      if (free < size * lowestShare)
        full.abort(createNoSpaceError(path, 'less than 5 % of the disk is free'));
    }
  };
  watch();
  const timer = setInterval(watch, everyMs);
  const more = createProgressPrinter();
  try {
    for (const [at, mount] of mounts.entries()) {
      full.signal.throwIfAborted();
      const ended = await runRsync(mount, [dataMountPathOf(at), copyPathOf(at)], [], {
        more,
        signal: full.signal,
      });
      full.signal.throwIfAborted();
      if (isDiskFull(ended)) throw createNoSpaceError(restorePointMountPath, fullDisk);
      // Exit codes 23 and 24 mean that the running app changed or removed files. The second copy includes these
      // changes.
      requireSuccess('rsync', ended, [0, 23, 24]);
    }
  } finally {
    clearInterval(timer);
  }
  // Sync now, so that little must be written to disk after the second copy.
  await syncFileSystems([restorePointMountPath]);
  return null;
}

/** Waits for input before it copies, because the container is started while services are still being stopped. */
async function cold({ mounts }: HelperRequest): Promise<null> {
  printMessage({ bytes: 0 });
  await once(process.stdin, 'data');
  const more = createProgressPrinter();
  for (const [at, mount] of mounts.entries()) {
    const ends = [dataMountPathOf(at), copyPathOf(at)] as const;
    await equalizeContents(mount, ends, true, more).catch((error: NodeJS.ErrnoException) => {
      throw ['ENOSPC', 'EDQUOT'].includes(error.code ?? '')
        ? createNoSpaceError(restorePointMountPath, fullDisk)
        : error;
    });
    const ended = await runRsync(mount, ends, ['--size-only'], { more });
    if (isDiskFull(ended)) throw createNoSpaceError(restorePointMountPath, fullDisk);
    requireSuccess('rsync', ended);
  }
  return null;
}

/** Returns up to five differences between the trees, as rsync lists them. */
async function listDifferences(
  mount: RequestedMount,
  ends: RsyncPaths,
  args: readonly string[],
): Promise<string[]> {
  const lines: string[] = [];
  const onLine = (line: string) => lines.length < mostNames && lines.push(line.slice(0, shownLength));
  const all = ['--dry-run', '--itemize-changes', '--checksum', ...args];
  requireSuccess('rsync', await runRsync(mount, ends, all, { onLine }));
  return lines;
}

async function hash({ mounts }: HelperRequest): Promise<string[]> {
  const more = createProgressPrinter();
  const hashes: string[] = [];
  for (const [at, { isFile }] of mounts.entries()) {
    const sum = createHash('sha256');
    const onOutput = (chunk: Buffer) => {
      sum.update(chunk);
      more(chunk.length);
    };
    const tree = isFile
      ? [`--directory=${restorePointMountPath}`, `${at}`]
      : [`--directory=${copyPathOf(at)}`, '.'];
    requireSuccess('tar', await runProgram('tar', [...tarArgs, ...tree], { onOutput }));
    hashes.push(sum.digest('hex'));
  }
  return hashes;
}

/** Checks all mounts before restoring any. Returns up to five remaining differences for each mount. */
async function restore({ mounts }: HelperRequest): Promise<string[][]> {
  for (const [at, mount] of mounts.entries()) {
    const copy = fs.lstatSync(copyPathOf(at));
    const { type, inside, strange } = await inspectMount(at, mount);
    const path = dataMountPathOf(at);
    const wanted = mount.isFile ? 'file' : 'directory';
    if (type !== wanted || (mount.isFile ? !copy.isFile() : !copy.isDirectory()))
      throw new HelperError('failed', `the mount ${at}, or its copy, is not a ${wanted}`, path);
    if (inside[0] !== undefined)
      throw new HelperError('failed', `another file system or subvolume is mounted at ${inside[0]}`, path);
    if (strange[0] !== undefined)
      throw new HelperError(
        'failed',
        `the owner or group of ${strange[0]} is not mapped into containers`,
        path,
      );
  }
  const more = createProgressPrinter();
  const ends = (at: number) => [copyPathOf(at), dataMountPathOf(at)] as const;
  // First remove surplus files from all mounts, because the disk may be full. The copies of older updaters lack
  // attributes. Contents are then written in place, so that the current files keep their attributes.
  for (const [at, mount] of mounts.entries())
    await equalizeContents(mount, ends(at), mount.hasRsyncAttributes !== true, more);
  for (const [at, mount] of mounts.entries())
    requireSuccess('rsync', await runRsync(mount, ends(at), ['--size-only'], { more }));
  await syncFileSystems(mounts.map((_, at) => dataMountPathOf(at)));
  const found: string[][] = [];
  for (const [at, mount] of mounts.entries()) found.push(await listDifferences(mount, ends(at), [untrusted]));
  return found;
}

/** Returns the TCP ports in the LISTEN state. */
function ports(): number[] {
  const lines = ['tcp', 'tcp6'].flatMap(
    (name) => readIfExists(() => fs.readFileSync(`/proc/net/${name}`, 'utf8'))?.split('\n') ?? [],
  );
  const open = lines.flatMap((line) => {
    const [, local = '', , state] = line.trim().split(/\s+/);
    return state === '0A' ? [Number.parseInt(local.split(':').at(-1) ?? '', 16)] : [];
  });
  return [...new Set(open)].sort((a, b) => a - b);
}

function tables({ mounts, pids = [] }: HelperRequest): MountTables {
  const table = (process: number | string): string => {
    try {
      return fs.readFileSync(`/proc/${process}/mountinfo`, 'utf8');
    } catch {
      return '';
    }
  };
  const directories = mounts.map((_, at) => fs.lstatSync(dataMountPathOf(at)).isDirectory());
  return { tables: Object.fromEntries(['self', ...pids].map((each) => [each, table(each)])), directories };
}

function createNoSpaceError(path: string, why: string): HelperError {
  const { size, free } = readDiskSpace(path);
  const megabytes = (bytes: number) => `${Math.floor(bytes / 1_000_000)} MB`;
  return new HelperError('no-space', `${why}: ${megabytes(free)} of ${megabytes(size)} free`, path);
}

function requireSuccess(program: string, ended: ProgramResult, accepted: readonly number[] = [0]): void {
  const failure = formatProgramError(program, ended, accepted);
  if (failure !== null) throw new HelperError('failed', failure);
}

/** Returns a function that adds up processed bytes, and prints the total at most twice a second. */
function createProgressPrinter(): (more: number) => void {
  let bytes = 0;
  let saidAt = Number.NEGATIVE_INFINITY;
  return (more) => {
    bytes += more;
    if (performance.now() - saidAt < everyMs) return;
    saidAt = performance.now();
    printMessage({ bytes });
  };
}

/** Kills all processes in the container. Called when standard input closes, which means that the updater has exited. */
function killAllAndExit(): void {
  killChildProcesses();
  process.exit(1);
}

const [verb = '', json = ''] = process.argv.slice(2);
if (verb === 'suspend' || verb === 'guard') await controlProcesses(verb, JSON.parse(json));
process.stdin.on('end', killAllAndExit).on('error', killAllAndExit).resume();
try {
  const requested = JSON.parse(json) as HelperRequest;
  // The kernel derives the disk priority from the CPU priority.
  if (requested.isIdle) setPriority(19);
  requireUnchangedMounts(requested);
  const result = (await verbs[verb as HelperOperation](requested)) ?? null;
  printMessage({ result }, () => process.exit(0));
} catch (error) {
  const { message, code, at } =
    error instanceof HelperError ? error : new HelperError('failed', String(error));
  printMessage({ error: message, code, ...(at !== undefined && { at }) }, () => process.exit(1));
}
