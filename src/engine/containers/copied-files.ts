import { posix } from 'node:path';
import { createTarEntry, tarTrailer } from '../../core/files/tar-header.ts';
import type { Engine } from '../cli/engine.ts';
import { type ContainerFile, readContainerFile } from './container-file.ts';

/** A file that compose copied into a container after creating it. The engine's inspection does not list such files. */
export interface CopiedFile extends Omit<ContainerFile, 'content'> {
  /** Absolute path in the container. */
  path: string;
  /** Content in base64. */
  content: string;
}

/** Maximum size in bytes of a file in a snapshot; larger than the engine's limit for configs. */
const maxBytes = 1024 * 1024;

/**
 * Returns the container paths of a service's configs and secrets. Compose usually mounts those with a `file`, and
 * copies those with `content` or `environment` into the container.
 * @param service - the service in the output of `docker compose config --format json`
 */
export function listCopiedPaths(service: unknown): string[] {
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

/**
 * Reads files that compose has copied into a container. Skips missing files, and lists other unreadable files in
 * `lost`.
 */
export async function readCopiedFiles(
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

/** Creates a tar archive of the files, to be unpacked at the root of a container. */
export function createCopiedFilesArchive(files: readonly CopiedFile[]): Buffer {
  const parts = files.flatMap(({ path, mode, uid, gid, modified, content }) => {
    const name = path.replace(/^\//, '');
    const bytes = Buffer.from(content, 'base64');
    // Use an extended header, because only it has room for long paths and large user ids.
    const extended = Buffer.from(record('path', name) + record('uid', uid) + record('gid', gid));
    return [
      ...createTarEntry('extended', extended, { modified, kind: 'x' }),
      ...createTarEntry(name, bytes, { mode, modified }),
    ];
  });
  return Buffer.concat([...parts, tarTrailer]);
}

/**
 * Formats a record of an extended tar header, such as `17 uid=100000000` with a line feed. The number at the beginning
 * is the length of the record, including the number itself.
 */
function record(key: string, value: string | number): string {
  const rest = ` ${key}=${value}\n`;
  const length = Buffer.byteLength(rest);
  const digits = String(length + String(length).length).length;
  return length + digits + rest;
}
