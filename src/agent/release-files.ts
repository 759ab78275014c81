import { lstat, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../engine/engine.ts';
import { UpdateError } from '../progress/update-error.ts';
import { isGenerated } from './installation.ts';

const directoryLabel = 'svc.release-files';
const defaultDirectory = '/usr/share/svc/release';
const maxBytes = 1024 * 1024;

/** Where an image keeps the compose files of its release. */
export const releaseDirectory = (labels: Readonly<Record<string, string>>): string =>
  labels[directoryLabel] || defaultDirectory;

/** On a container that only exists to be copied from; its value is the project it was made for. */
const scratchLabel = 'svc-updater.scratch';

/** Removes what a killed run of this project left: a container that was never started. */
export async function removeScratch(engine: Engine, project: string): Promise<void> {
  const ids = await engine.ask(['ps', '--all', '--quiet', '--filter', `label=${scratchLabel}=${project}`]);
  const left = ids.split('\n').filter(Boolean);
  if (left.length > 0) await engine.ask(['rm', '--volumes', '--force', ...left]);
}

/**
 * Reads compose files out of an image without running it: a container that is created, copied from and removed.
 * Only regular UTF-8 files of at most 1 MiB with the marker in their first line are taken.
 * Refusals: release-file, no-marker.
 */
export async function readReleaseFiles(
  engine: Engine,
  image: { id: string; labels: Readonly<Record<string, string>> },
  names: readonly string[],
  project: string,
): Promise<Map<string, string>> {
  const from = releaseDirectory(image.labels);
  const stage = await mkdtemp(join(tmpdir(), 'svc-updater-release-'));
  // An image without a command can only be created with one.
  const created = await engine.ask([
    'create',
    '--pull',
    'never',
    '--network',
    'none',
    '--label',
    `${scratchLabel}=${project}`,
    image.id,
    '-',
  ]);
  const container = created.trim();
  try {
    const texts = new Map<string, string>();
    for (const name of names) {
      const target = join(stage, name);
      const result = await engine.call(['cp', `${container}:${from}/${name}`, target]);
      if (result.exitCode !== 0) {
        throw new UpdateError(
          'release-file',
          `the release has no ${name} in ${from}, which this install uses`,
        );
      }
      texts.set(name, await readReleaseFile(target, name));
    }
    return texts;
  } finally {
    const { signal } = engine;
    engine.signal = undefined;
    await engine.call(['rm', '--volumes', '--force', container]).catch(() => {});
    engine.signal = signal;
    await rm(stage, { recursive: true, force: true });
  }
}

async function readReleaseFile(path: string, name: string): Promise<string> {
  const stat = await lstat(path);
  if (!stat.isFile()) throw new UpdateError('release-file', `the release's ${name} is not a regular file`);
  if (stat.size > maxBytes)
    throw new UpdateError('release-file', `the release's ${name} is larger than 1 MiB`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(path));
  } catch (cause) {
    throw new UpdateError('release-file', `the release's ${name} is not UTF-8 text`, { cause });
  }
  if (!isGenerated(text)) {
    throw new UpdateError('no-marker', `the release's ${name} does not begin with "# svc:generated"`);
  }
  return text;
}
