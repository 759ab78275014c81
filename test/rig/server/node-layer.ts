import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { execa } from 'execa';
import { type TarEntry, tar } from '../tar.ts';

/** A layer for a registry: gzipped, with the digests of its bytes and of the archive in it. */
export interface ReadyLayer {
  digest: string;
  diffId: string;
  bytes: Buffer;
}

const binary = fileURLToPath(new URL('../../../node_modules/.bin/node', import.meta.url));
const cache = fileURLToPath(new URL('../../../.cache/', import.meta.url));

let layer: Promise<ReadyLayer> | undefined;

/**
 * Node as `/bin/node`, from the pinned npm package, with the required libraries of the machine; built once and cached.
 */
export function nodeLayer(): Promise<ReadyLayer> {
  layer ??= readLayer();
  return layer;
}

async function readLayer(): Promise<ReadyLayer> {
  const { stdout: version } = await execa(binary, ['--version']);
  return keptLayer(`node-${version}`, entries);
}

/** The cached layer with that name, which is built if it is missing. */
export async function keptLayer(name: string, make: () => Promise<TarEntry[]>): Promise<ReadyLayer> {
  const file = join(cache, `${name}-${process.arch}.tar.gz`);
  const kept = await Promise.all([readFile(file), readFile(`${file}.json`, 'utf8')]).catch(() => null);
  if (kept !== null) return { bytes: kept[0], ...JSON.parse(kept[1]) };

  const plain = tar(await make());
  const bytes = gzipSync(plain, { level: 1 });
  const digests = { digest: sha256(bytes), diffId: sha256(plain) };
  await mkdir(cache, { recursive: true });
  await place(file, bytes);
  await place(`${file}.json`, JSON.stringify(digests));
  return { bytes, ...digests };
}

async function entries(): Promise<TarEntry[]> {
  const { stdout } = await execa('ldd', [binary], { timeout: 60_000 });
  // `libc.so.6 => /lib/…/libc.so.6 (0x…)`, and the loader as a bare path; libraries of the kernel have no path.
  const libraries = [...stdout.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map(([, path = '']) => path);
  const files = [
    { name: 'bin/node', content: await stripped(binary) },
    ...(await Promise.all(
      libraries.map(async (path) => ({ name: path.slice(1), content: await readFile(path) })),
    )),
  ];
  return files.map((file): TarEntry => ({ ...file, kind: 'file', mode: 0o755 }));
}

/** Without symbols, if the machine has the tool to remove them. */
async function stripped(binary: string): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), 'node-'));
  try {
    const copy = join(directory, 'node');
    const { failed } = await execa('strip', ['-o', copy, binary], { reject: false, timeout: 60_000 });
    return await readFile(failed ? binary : copy);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Two test runs may do this at once: each moves a complete file to its place. */
async function place(file: string, content: Buffer | string): Promise<void> {
  const whole = join(dirname(file), `.${process.pid}-${content.length}`);
  await writeFile(whole, content);
  await rename(whole, file);
}

function sha256(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
