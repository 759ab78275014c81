import { dirname } from 'node:path';
import type { FilePermissions, FileSystem } from '../../../src/core/files/file-system.ts';

/** A fault at one operation of a process: an error without or with its effect, or the end of the process. */
export type Fault = 'fail' | 'fail-after' | 'stop-before' | 'stop-amid' | 'stop-after';

/** Returns the fault at the operation with this number, counted from 0. */
export type Faults = (operation: number) => Fault | undefined;

/** Random source for the unsynced data that survives a power loss: from 0 to below 1; with 0, nothing survives. */
export type Luck = () => number;

interface Inode {
  kind: 'file' | 'directory';
  bytes: Buffer;
  owner: FilePermissions;
  /** Bytes and owner are on the disk. */
  synced: boolean;
  /** A sync has failed: the system considers the bytes written, and no later sync writes them. */
  lost: boolean;
}

type Names = Map<string, Inode>;

/** A change of names in memory, which is written to the disk when one of its directories is synced. */
interface Pending {
  directories: readonly string[];
  apply(names: Names): void;
}

export class Stopped extends Error {}

const root: FilePermissions = { uid: 0, gid: 0, mode: 0o600 };
const inode = (
  kind: Inode['kind'],
  bytes: string | Buffer,
  owner: FilePermissions,
  synced: boolean,
): Inode => ({
  kind,
  bytes: Buffer.from(bytes),
  owner,
  synced,
  lost: false,
});

function systemError(code: string, syscall: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall, path });
}

/**
 * A disk and its cache in memory. Every process sees written names and bytes at once. A power loss may discard them
 * unless they were synced: the file for its bytes, owner and mode, the directory for its names. Each change of a name,
 * such as a rename, is atomic. The order in which changes reach the disk is undefined.
 */
export class FakeDisk {
  /** Writing fails because the disk is full. */
  full = false;
  #names: Names = new Map();
  #onDisk: Names = new Map();
  #pending: Pending[] = [];

  constructor() {
    this.putDirectory('/');
  }

  putFile(path: string, text: string, owner: FilePermissions): void {
    this.#put(path, inode('file', text, owner, true));
  }

  putDirectory(path: string): void {
    if (path !== '/') this.putDirectory(dirname(path));
    if (!this.#names.has(path)) this.#put(path, inode('directory', '', root, true));
  }

  #put(path: string, node: Inode): void {
    this.#names.set(path, node);
    this.#onDisk.set(path, node);
  }

  /** All files as a process sees them: `<uid>:<gid> <mode> <text>`. */
  contents(): Map<string, string> {
    const said = ({ bytes, owner }: Inode) => `${owner.uid}:${owner.gid} ${owner.mode.toString(8)} ${bytes}`;
    return new Map(
      [...this.#names]
        .filter(([, { kind }]) => kind !== 'directory')
        .map(([path, node]) => [path, said(node)] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  }

  /** Discards unsynced data, except for the part that `luck` spares. */
  losePower(luck: Luck): void {
    for (const change of this.#pending) if (luck() >= 0.5) change.apply(this.#onDisk);
    this.#pending = [];
    const reached = ([path]: [string, Inode]) => {
      for (let at = path; at !== '/'; at = dirname(at)) if (!this.#onDisk.has(dirname(at))) return false;
      return true;
    };
    this.#onDisk = new Map([...this.#onDisk].filter(reached));
    for (const node of this.#onDisk.values()) {
      if (node.kind !== 'file' || node.synced) continue;
      if (luck() < 0.5) node.owner = root;
      const length = Math.floor(luck() * 1.5 * node.bytes.length);
      node.bytes = luck() < 0.5 ? node.bytes.subarray(0, length) : Buffer.alloc(length);
      node.synced = true;
    }
    this.#names = new Map(this.#onDisk);
  }

  #change(directories: readonly string[], apply: (names: Names) => void): void {
    apply(this.#names);
    this.#pending.push({ directories, apply });
  }

  #parent(path: string, syscall: string): string {
    const parent = dirname(path);
    if (this.#names.get(parent)?.kind !== 'directory') throw systemError('ENOENT', syscall, path);
    return parent;
  }

  /** The file system of one process. After the process has stopped, every call fails without effect. */
  process(faults: Faults = () => undefined): FakeProcess {
    return new FakeProcess(faults, this);
  }

  read(path: string): Buffer | null {
    const node = this.#names.get(path);
    if (node?.kind === 'directory') throw systemError('EISDIR', 'read', path);
    return node ? Buffer.from(node.bytes) : null;
  }

  realpath(path: string): string {
    if (!this.#names.has(path)) throw systemError('ENOENT', 'realpath', path);
    return path;
  }

  owner(path: string): FilePermissions {
    const node = this.#names.get(path);
    if (!node) throw systemError('ENOENT', 'lstat', path);
    return { ...node.owner };
  }

  makeDirectory(path: string, mode: number): void {
    if (this.full) throw systemError('ENOSPC', 'mkdir', path);
    const missing: string[] = [];
    for (let at = path; !this.#names.has(at); at = dirname(at)) missing.unshift(at);
    for (const at of missing) {
      const node = inode('directory', '', { ...root, mode }, true);
      this.#change([dirname(at)], (names) => names.set(at, node));
    }
  }

  /** `amid`: only half of the bytes are written. */
  write(
    path: string,
    bytes: string | Buffer,
    owner: FilePermissions | null,
    mode: number,
    amid: boolean,
  ): string[] {
    const parent = this.#parent(path, 'open');
    if (this.#names.has(path)) throw systemError('EEXIST', 'open', path);
    const short = amid || this.full;
    const written = Buffer.from(bytes).subarray(0, short ? bytes.length >> 1 : undefined);
    const node = inode('file', written, short ? root : { ...(owner ?? root), mode }, false);
    this.#change([parent], (names) => names.set(path, node));
    if (this.full) throw systemError('ENOSPC', 'write', path);
    return [];
  }

  /** `failing`: the caller will report that the sync failed. */
  sync(path: string, failing: boolean): void {
    const node = this.#names.get(path);
    if (!node) throw systemError('ENOENT', 'open', path);
    if (node.kind === 'file') {
      node.lost ||= failing;
      node.synced ||= !node.lost;
    } else if (!failing) this.#syncNames(path);
  }

  rename(from: string, to: string): void {
    const node = this.#names.get(from);
    if (!node) throw systemError('ENOENT', 'rename', from);
    const parent = this.#parent(to, 'rename');
    this.#change([dirname(from), parent], (names) => {
      if (names.get(from) === node) names.delete(from);
      names.set(to, node);
    });
  }

  remove(path: string): void {
    const node = this.#names.get(path);
    if (!node) return;
    if ([...this.#names.keys()].some((name) => name.startsWith(`${path}/`))) {
      throw systemError('ENOTEMPTY', 'rmdir', path);
    }
    this.#change([dirname(path)], (names) => {
      if (names.get(path) === node) names.delete(path);
    });
  }

  /** Syncs the names of a directory, and earlier changes in directories that share a change with it. */
  #syncNames(directory: string): void {
    const reached = new Set([directory]);
    const taken = new Set<Pending>();
    for (const change of this.#pending.toReversed()) {
      if (!change.directories.some((path) => reached.has(path))) continue;
      taken.add(change);
      for (const path of change.directories) reached.add(path);
    }
    for (const change of taken.size > 0 ? this.#pending : [])
      if (taken.has(change)) change.apply(this.#onDisk);
    this.#pending = this.#pending.filter((change) => !taken.has(change));
  }
}

export class FakeProcess implements FileSystem {
  /** Number of started operations. */
  operations = 0;
  stopped = false;
  /** Called before each operation takes effect. */
  onOperation: () => void = () => {};
  readonly #faults: Faults;
  readonly #disk: FakeDisk;

  constructor(faults: Faults, disk: FakeDisk) {
    this.#faults = faults;
    this.#disk = disk;
  }

  read = (path: string) => this.#operate('read', path, () => this.#disk.read(path));
  realpath = (path: string) => this.#operate('realpath', path, () => this.#disk.realpath(path));
  readOwner = (path: string) => this.#operate('lstat', path, () => this.#disk.owner(path));
  readPermissions = (path: string) => this.readOwner(path);
  makeDirectory = (path: string, mode: number) =>
    this.#operate('mkdir', path, () => this.#disk.makeDirectory(path, mode));
  rename = (from: string, to: string) => this.#operate('rename', from, () => this.#disk.rename(from, to));
  remove = (path: string) => this.#operate('unlink', path, () => this.#disk.remove(path));

  write = (path: string, bytes: string | Buffer, owner: FilePermissions | null, mode: number) =>
    this.#operate(
      'write',
      path,
      () => this.#disk.write(path, bytes, owner, mode, false),
      () => this.#disk.write(path, bytes, owner, mode, true),
    );

  sync = (path: string) =>
    this.#operate(
      'fsync',
      path,
      () => this.#disk.sync(path, false),
      () => this.#disk.sync(path, true),
    );

  /** `part` is the partial effect of an operation that fails or stops in the middle. */
  async #operate<T>(
    syscall: string,
    path: string,
    effect: () => T,
    part: () => unknown = () => {},
  ): Promise<T> {
    if (this.stopped) throw new Stopped();
    const fault = this.#faults(this.operations++);
    this.onOperation();
    if (fault === 'fail' || fault === 'stop-amid') part();
    const result = fault === undefined || fault.endsWith('-after') ? effect() : undefined;
    if (fault?.startsWith('stop')) {
      this.stopped = true;
      throw new Stopped();
    }
    if (fault !== undefined) throw systemError('EIO', syscall, path);
    return result as T;
  }
}
