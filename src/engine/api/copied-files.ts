import { posix } from 'node:path';
import type { Engine } from '../cli/engine.ts';
import { block, type ContainerFile, readContainerFile } from './container-file.ts';

/** A file that compose has copied into a container after it made it: the engine's inspection does not know it. */
export interface CopiedFile extends Omit<ContainerFile, 'content'> {
  /** Absolute, in the container. */
  path: string;
  /** base64 */
  content: string;
}

/** As much as the engine's own configs may hold, and then some. */
const maxBytes = 1024 * 1024;

/**
 * Where compose puts the configs and secrets of a service, from its definition in `docker compose config --format json`.
 * Those with a file are usually mounts; those with `content` or `environment` are copied into the container.
 */
export function copiedPaths(service: unknown): string[] {
  const { configs, secrets } = (service ?? {}) as Record<'configs' | 'secrets', unknown>;
  return [...targets(configs, '/'), ...targets(secrets, '/run/secrets')];
}

function targets(references: unknown, directory: string): string[] {
  if (!Array.isArray(references)) return [];
  return references.map((reference) => {
    const { source, target } = typeof reference === 'string' ? { source: reference } : reference;
    return posix.resolve(directory, String(target || source));
  });
}

/** The files among the paths that are there; those that are too big or no regular files are reported as lost. */
export async function readCopied(
  engine: Engine,
  id: string,
  paths: readonly string[],
): Promise<{ copied: CopiedFile[]; lost: string[] }> {
  const copied: CopiedFile[] = [];
  const lost: string[] = [];
  for (const path of paths) {
    const file = await readContainerFile(engine, id, path, maxBytes);
    if (file === 'missing') continue;
    if (typeof file === 'string') lost.push(path);
    else copied.push({ path, ...file, content: file.content.toString('base64') });
  }
  return { copied, lost };
}

/** A tar archive of the files, to be unpacked at `/`. */
export function copiedArchive(files: readonly CopiedFile[]): Buffer {
  const parts = files.flatMap(({ path, mode, uid, gid, modified, content }) => {
    const name = path.replace(/^\//, '');
    const bytes = Buffer.from(content, 'base64');
    // Extended headers hold what the plain one has no room for: long names and big numbers.
    const extended = Buffer.from(record('path', name) + record('uid', uid) + record('gid', gid));
    return [
      header('x', { name: 'extended', mode: 0o644, uid: 0, gid: 0, modified, size: extended.length }),
      padded(extended),
      header('0', { name, mode, uid, gid, modified, size: bytes.length }),
      padded(bytes),
    ];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

const padded = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((block - (bytes.length % block)) % block)]);

/** `17 uid=100000000` and a line feed: the length counts itself. */
function record(key: string, value: string | number): string {
  const rest = ` ${key}=${value}\n`;
  const length = Buffer.byteLength(rest);
  let whole = length + String(length).length;
  whole = length + String(whole).length;
  return whole + rest;
}

function header(
  kind: string,
  file: { name: string; mode: number; uid: number; gid: number; modified: number; size: number },
): Buffer {
  const bytes = Buffer.alloc(block);
  const number = (value: number, at: number, length: number) => {
    const digits = value.toString(8);
    bytes.write(digits.length < length ? digits.padStart(length - 1, '0') : ''.padStart(length - 1, '0'), at);
  };
  bytes.write(file.name.slice(0, 99), 0);
  number(file.mode, 100, 8);
  number(file.uid, 108, 8);
  number(file.gid, 116, 8);
  number(file.size, 124, 12);
  number(file.modified, 136, 12);
  bytes.write('        ', 148);
  bytes.write(kind, 156);
  bytes.write('ustar\x0000', 257);
  bytes.write(`${sum(bytes).toString(8).padStart(6, '0')}\0 `, 148);
  return bytes;
}

const sum = (bytes: Buffer): number => bytes.reduce((total, byte) => total + byte, 0);
