import { createReadStream } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createGzip } from 'node:zlib';
import { execa } from 'execa';
import { updaterImage } from '../rig/updater-run.ts';
import { printTable } from './compare.ts';

/** What scripts/bench runs for `size`: what each megabyte of the image is, compressed as a registry sends it. */

/** The command-line image that the updater's is made from, as scripts/image says. */
const base = process.env.CLI_IMAGE ?? 'docker:29-cli';
const bundle = fileURLToPath(new URL('../../dist/agent.mjs', import.meta.url));

/** The first that a path matches. */
const parts: [string, RegExp][] = [
  ['docker command', /^usr\/local\/bin\/docker$/],
  ['compose', /cli-plugins\/docker-compose$/],
  ['buildx', /(cli-plugins|bin)\/docker-buildx$/],
  ['Node', /^usr\/local\/bin\/node$/],
  ['C++ library for Node', /lib(stdc\+\+|gcc_s)\.so/],
  ['the agent', /^usr\/local\/lib\/svc-updater\//],
  ['the system below', /./],
];

const directory = await mkdtemp(join(tmpdir(), 'svc-updater-size-'));
try {
  const [ours, theirs] = [await weigh(updaterImage), await weigh(base)];
  const names = parts.map(([name]) => name);
  const megabytes = (bytes: number) => (bytes / 1_000_000).toFixed(2);
  const row = (name: string, of: (sizes: Map<string, number>) => number) => [
    name,
    megabytes(of(ours)),
    megabytes(of(theirs)),
  ];
  const whole = (sizes: Map<string, number>) => [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const added = ['Node', 'C++ library for Node', 'the agent'].reduce(
    (sum, name) => sum + (ours.get(name) ?? 0),
    0,
  );
  const bytes = (await stat(bundle)).size;
  printTable([
    ['MB, compressed', updaterImage, base],
    ...names.map((name) => row(name, (sizes) => sizes.get(name) ?? 0)),
    row('whole', whole),
  ]);
  console.log(
    `The layers over the CLI image are ${megabytes(added)} MB; the whole is ${(whole(ours) / whole(theirs)).toFixed(2)} times the CLI image, of which it leaves out what it never calls. The bundle is ${Math.round(bytes / 1000)} KB.`,
  );
  console.log(
    JSON.stringify({
      bundle: bytes,
      added,
      ours: Object.fromEntries(ours),
      theirs: Object.fromEntries(theirs),
    }),
  );
} finally {
  await rm(directory, { recursive: true, force: true });
}

/** Bytes of each part; those of small files together, as they are compressed together. */
async function weigh(image: string): Promise<Map<string, number>> {
  const place = await mkdtemp(join(directory, 'image-'));
  await execa('sh', ['-c', 'docker save "$1" | tar -x -C "$2"', 'save', image, place]);
  const [manifest] = JSON.parse(await readFile(join(place, 'manifest.json'), 'utf8'));
  const sizes = new Map<string, number>();
  for (const layer of manifest.Layers as string[]) {
    const files = (await execa('tar', ['-tf', join(place, layer)])).stdout.split('\n');
    const groups = Map.groupBy(
      files.filter((path) => path !== '' && !path.endsWith('/')),
      (path) => parts.find(([, form]) => form.test(path.replace(/^\.\//, '')))?.[0] ?? '',
    );
    for (const [part, paths] of groups) {
      const list = join(place, 'paths');
      const archive = join(place, 'part.tar');
      await execa('sh', ['-c', 'cat >"$1"', 'list', list], { input: paths.join('\n') });
      // Through a folder, as tar cannot take files from one archive into another.
      const unpacked = await mkdtemp(join(place, 'part-'));
      await execa('tar', ['-xf', join(place, layer), '-C', unpacked, '-T', list]);
      await execa('tar', ['-cf', archive, '-C', unpacked, '.']);
      sizes.set(part, (sizes.get(part) ?? 0) + (await compressed(archive)));
      await rm(unpacked, { recursive: true });
    }
  }
  return sizes;
}

async function compressed(file: string): Promise<number> {
  let size = 0;
  for await (const chunk of createReadStream(file).pipe(createGzip())) size += (chunk as Buffer).length;
  return size;
}
