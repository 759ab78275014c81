import { truncate, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { loadImagesFromArchive } from '../../../../../src/updater/compose/pull/load/load-images.ts';
import { Log } from '../../../../../src/updater/run/log/run-log.ts';
import { engineThat } from '../../../../engine/http-engine.ts';
import { archiveOf, sha256 } from '../../../../provenance/archive.ts';
import { temporaryDirectory } from '../../../../rig/temporary-directory.ts';

const reference = 'acme/svc:v1.5.0';
const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const digestOf = (bytes: Buffer) => `sha256:${sha256(bytes)}`;
const config = json({ os: 'linux' });
/** Larger than the buffers of the connection. */
const layer = Buffer.alloc(32 * 1024 ** 2, 'layer');
const manifest = json({ config: { digest: digestOf(config) }, layers: [{ digest: digestOf(layer) }] });

let archive: string;
beforeEach(async () => {
  const folder = await temporaryDirectory();
  archive = join(folder, 'release.tar');
  const blobs = [config, layer, manifest].map((blob) => [`blobs/sha256/${sha256(blob)}`, blob] as const);
  const head = ['release.json', 'release.json.sigstore.json'].map((name) => [name, '{}'] as const);
  await writeFile(archive, archiveOf([...head, ...blobs.toSorted(([a], [b]) => (a < b ? -1 : 1))]));
});

async function load(receive: (from: IncomingMessage) => Promise<string>): Promise<ReadonlySet<string>> {
  const engine = await engineThat((from, to) => {
    // If the connection breaks, there is no response.
    receive(from).then(
      (text) => to.end(text),
      () => {},
    );
  });
  const images = new Map([['app', new Set([digestOf(manifest)])]]);
  const expected = { images, files: new Map<string, string>(), layers: new Map<string, never>() };
  const loading = { from: archive, expected, platform: 'linux/amd64', deadline: performance.now() + 60_000 };
  return loadImagesFromArchive({ engine, log: new Log(() => {}) }, new Map([['app', reference]]), loading);
}

it('loads the images of an archive', async () => {
  const loaded = await load(async (from) => {
    const sent = Buffer.concat(await from.toArray());
    return sent.includes(layer) ? '{"stream":"Loaded image"}\n' : '{"error":"no layer"}\n';
  });
  expect([...loaded]).toEqual([reference]);
});

it('reports a truncated archive as an error of the archive', async () => {
  const loading = load(async (from) => {
    for await (const _ of from) await truncate(archive, 1024);
    return '';
  });
  await expect(loading).rejects.toMatchObject({ code: 'not-proven', message: `${archive}: it is truncated` });
});

it.each([
  ['no space left on device', 'pull-space', `${reference}: the disk of the engine is full`],
  ['invalid archive', 'pull-failed', `${reference}: the engine rejected the image (invalid archive)`],
])('reports the error %j in a successful response of the engine', async (error, code, message) => {
  const loading = load(async (from) => {
    await from.resume().toArray();
    return `${JSON.stringify({ stream: 'Loading layer' })}\n${JSON.stringify({ errorDetail: { message: error }, error })}\n`;
  });
  await expect(loading).rejects.toMatchObject({ code, message });
});
