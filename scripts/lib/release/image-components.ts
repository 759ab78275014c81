import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { LayoutImage } from './layout.ts';
import type { Component } from './sbom.ts';

/** The system's packages in an image, and the programs that are no package, of each platform. */
export async function imageComponents({ platforms, path }: LayoutImage): Promise<Component[]> {
  const found: Component[] = [];
  for (const [platform, { layers }] of Object.entries(platforms)) {
    const files = layers.map(({ digest }) => path(digest));
    const [, architecture = ''] = platform.split('/');
    const packages = await fileIn(files, 'lib/apk/db/installed');
    if (packages !== null) found.push(...apkPackages(String(packages)));
    const programs = await fileIn(files, 'usr/local/lib/svc-updater/programs.json');
    const { cli, compose } = JSON.parse(String(programs ?? '{}'));
    const node = await fileIn(files, 'usr/local/bin/node');
    // The address of its own headers.
    const [, nodeVersion] = /\/(v\d+\.\d+\.\d+)\/node-v/.exec(node?.toString('latin1') ?? '') ?? [];
    const known = [
      program('docker', 'pkg:github/docker/cli', cli, architecture),
      program('docker-compose', 'pkg:github/docker/compose', compose, architecture),
      program('node', 'pkg:github/nodejs/node', nodeVersion, architecture),
    ];
    found.push(...known);
  }
  return found;
}

function program(name: string, purl: string, version: string | undefined, arch: string): Component {
  if (version === undefined) throw new Error(`the image for ${arch} does not tell of its ${name}`);
  const tag = version.replace(/^v?/, 'v');
  const full = `${purl}@${tag}?arch=${arch}`;
  return { 'bom-ref': full, type: 'application', name, version: tag, purl: full };
}

/** https://wiki.alpinelinux.org/wiki/Apk_spec#Install_DB */
export function apkPackages(database: string): Component[] {
  return database
    .trim()
    .split('\n\n')
    .map((entry) => {
      const field = (letter: string) => new RegExp(`^${letter}:(.*)$`, 'm').exec(entry)?.[1] ?? '';
      const [name, version] = [field('P'), field('V')];
      const purl = `pkg:apk/alpine/${name}@${version}?arch=${field('A')}`;
      const licenses = [{ expression: field('L') }];
      return { 'bom-ref': purl, type: 'library', name, version, purl, licenses };
    });
}

/** Of the last layer that has it; null where none does. */
async function fileIn(layers: readonly string[], name: string): Promise<Buffer | null> {
  for (const layer of layers.toReversed()) {
    const command = ['--extract', '--gzip', '--to-stdout', '--file', layer, name];
    const options = { encoding: 'buffer', maxBuffer: 512 * 1024 * 1024 } as const;
    const found = await promisify(execFile)('tar', command, options).catch((error) => {
      if (/Not found in archive/.test(String(error.stderr))) return null;
      throw error;
    });
    if (found !== null) return found.stdout;
  }
  return null;
}
