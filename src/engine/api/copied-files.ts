import { posix } from 'node:path';
import { archiveEntry, archiveTrailer } from '../../core/files/archive-header.ts';
import type { Engine } from '../cli/engine.ts';
import { type ContainerFile, readContainerFile } from './container-file.ts';

/**
 * A file that compose has copied into a container after creating it. The engine's inspection does not include such
 * files.
 */
export interface CopiedFile extends Omit<ContainerFile, 'content'> {
  /** Absolute path in the container. */
  path: string;
  /** Content in base64. */
  content: string;
}

/** Limit in bytes, above the engine's limit for configs. */
const maxBytes = 1024 * 1024;

/**
 * Returns the paths of a service's configs and secrets, from its definition in `docker compose config --format json`.
 * Configs and secrets with a file are usually mounts; those with `content` or `environment` are copied into the
 * container.
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

/** Reads the existing files among the paths. Files that are too big or not regular are reported as lost. */
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

/** Creates a tar archive of the files, to be unpacked at `/`. */
export function copiedArchive(files: readonly CopiedFile[]): Buffer {
  const parts = files.flatMap(({ path, mode, uid, gid, modified, content }) => {
    const name = path.replace(/^\//, '');
    const bytes = Buffer.from(content, 'base64');
    // An extended header has room for long names and big numbers.
    const extended = Buffer.from(record('path', name) + record('uid', uid) + record('gid', gid));
    return [
      ...archiveEntry('extended', extended, { modified, kind: 'x' }),
      ...archiveEntry(name, bytes, { mode, modified }),
    ];
  });
  return Buffer.concat([...parts, archiveTrailer]);
}

/** Formats a record such as `17 uid=100000000` with a line feed. The length includes its own digits. */
function record(key: string, value: string | number): string {
  const rest = ` ${key}=${value}\n`;
  const length = Buffer.byteLength(rest);
  const digits = String(length + String(length).length).length;
  return length + digits + rest;
}
