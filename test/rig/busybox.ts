import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';

const cached = fileURLToPath(new URL('../../.cache/busybox', import.meta.url));

/**
 * The static busybox of the test images: Debian's package, downloaded once with apt and unpacked without installing
 * it.
 */
export async function busybox(): Promise<Buffer> {
  // apt's lock rejects concurrent runs.
  if (!existsSync(cached)) {
    fetching ??= fetchBusybox();
    await fetching;
  }
  return readFile(cached);
}

let fetching: Promise<void> | undefined;

async function fetchBusybox(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'busybox-'));
  try {
    await aptDownload(directory);
    const [archive] = (await readdir(directory)).filter((name) => name.endsWith('.deb'));
    if (archive === undefined) throw new Error('apt-get download left no package');
    await execa('dpkg-deb', ['-x', archive, 'unpacked'], { cwd: directory, timeout: 60_000 });
    const found = ['bin', 'usr/bin']
      .map((path) => join(directory, 'unpacked', path, 'busybox'))
      .find((path) => existsSync(path));
    if (found === undefined) throw new Error('the package holds no busybox');
    await mkdir(join(cached, '..'), { recursive: true });
    // Two test runs may do this at once: each moves a complete file to its place.
    const whole = `${cached}.${process.pid}`;
    await execa('cp', [found, whole], { timeout: 60_000 });
    await rename(whole, cached);
  } catch (cause) {
    throw new Error('the test images need the Debian package busybox-static, and it cannot be fetched', {
      cause,
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function aptDownload(directory: string): Promise<void> {
  const download = () =>
    execa('apt-get', ['download', '-q', '-o', 'APT::Sandbox::User=root', 'busybox-static'], {
      cwd: directory,
      timeout: 120_000,
      stdin: 'ignore',
    });
  try {
    await download();
  } catch {
    // A new machine has no package lists yet.
    await execa('apt-get', ['update', '-q'], { timeout: 300_000, stdin: 'ignore' });
    await download();
  }
}
