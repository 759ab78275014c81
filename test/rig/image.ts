import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { arch } from 'node:process';
import { gzipSync } from 'node:zlib';
import { busybox } from './busybox.ts';
import { clusterCompose, generatedCompose } from './compose-text.ts';
import type { ReleaseOptions, ShippedFile } from './releases.ts';
import { serverFiles } from './server/bundle.ts';
import { serverCompose } from './server/compose.ts';
import { nodeLayer } from './server/node-layer.ts';
import { type TarEntry, tar } from './tar.ts';

export interface Blob {
  digest: string;
  bytes: Buffer;
}

/** All that a registry stores of one image. */
export interface Image {
  blobs: Blob[];
  manifest: { mediaType: string; bytes: Buffer };
  platforms: string[] | undefined;
  /** The attestation in its index. */
  attestation?: Image;
}

export interface Layer extends Blob {
  diffId: string;
}

const machine: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };
/** The platform of this machine, as an index names it. */
export const machinePlatform = `linux/${machine[arch] ?? arch}`;

const programs = ['sh', 'httpd', 'wget', 'sleep', 'cat', 'mv', 'test', 'ls', 'timeout'];
const defaultReleaseDirectory = '/usr/share/svc/release';

/**
 * Creates an image of the test instance in memory: `FROM scratch`, a shared layer with busybox, and a small layer of
 * the release. The same repository and options give the same bytes (except for ballast). The repository is in the
 * layer for two reasons: the engine downloads a layer once for all concurrent pulls, and a faulty registry of one
 * instance would fail them all; and no image is used by another instance.
 */
export async function buildImage(
  repository: string,
  tag: string,
  options: ReleaseOptions = {},
): Promise<Image> {
  const version = options.version ?? tag.replace(/^v/, '');
  if (!/^\d/.test(version)) throw new Error(`say which version ${tag} is`);
  const shared = options.server ? await serverLayers() : [await baseLayer()];
  const layers = [...shared, ...(options.layers ?? []), layer(releaseEntries(repository, version, options))];
  if (options.ballast !== undefined) {
    layers.push(layer([{ name: 'ballast', kind: 'file', content: randomBytes(options.ballast) }]));
  }
  const image = assemble(
    layers,
    {
      Env: environment({ PATH: '/bin', ...options.env }),
      Entrypoint: options.entrypoint ?? [options.server ? '/bin/server-entry.sh' : '/bin/entry.sh'],
      Cmd: ['app'],
      Labels: labels(version, options),
      Healthcheck: healthPace(options.env),
      ...(options.volumes === undefined
        ? {}
        : { Volumes: Object.fromEntries(options.volumes.map((path) => [path, {}])) }),
    },
    options.platforms,
  );
  if (options.attestation === undefined) return image;
  const statement = layer([{ name: 'statement', kind: 'file', content: options.attestation }]);
  return { ...image, attestation: assemble([statement], {}) };
}

/** Engines before version 25 have no start interval. */
const noStartInterval = process.env.SVC_TEST_NO_START_INTERVAL === '1';

/**
 * Interval and start period of the health check. Each check costs a tenth of a second of processor time: without a
 * deliberate fault, the first successful check has to be enough.
 */
function healthPace(env: ReleaseOptions['env'] = {}): object {
  const second = 1_000_000_000;
  const late = Object.keys(env).some((key) => key.startsWith('FAULT_') || key === 'READY_AFTER');
  return {
    Interval: late || noStartInterval ? second : 60 * second,
    StartPeriod: late ? 3 * second : 60 * second,
    StartInterval: second / 5,
  };
}

/** The image of a service that no update changes. */
export async function buildPart(name: string): Promise<Image> {
  return assemble([await baseLayer(), layer([{ name: 'etc/svc-version', kind: 'file', content: '1\n' }])], {
    Env: environment({ PATH: '/bin' }),
    Entrypoint: ['/bin/entry.sh'],
    Cmd: [name],
  });
}

/**
 * Only the layers shared by all releases with a server, at the bottom and in the same order. An engine that has this
 * image does not unpack Node again for every instance.
 */
export async function buildServerBase(): Promise<Image> {
  return assemble(await serverLayers(), { Cmd: ['app'] });
}

let server: Promise<Layer> | undefined;

async function serverLayers(): Promise<Layer[]> {
  server ??= serverFiles().then(layer);
  return [await baseLayer(), await nodeLayer(), await server];
}

function releaseEntries(repository: string, version: string, options: ReleaseOptions): TarEntry[] {
  const directory = defaultReleaseDirectory.replace(/^\//, '');
  const files: Record<string, ShippedFile | null> = {
    'compose.yaml': generatedCompose(`v${version}`, options.server ? serverCompose : {}),
    'compose.cluster.yaml': clusterCompose(`v${version}`, options.server ? serverCompose : {}),
    ...options.files,
  };
  const shipped = Object.entries(files).flatMap(([file, content]): TarEntry[] => {
    if (content === null) return [];
    return [{ name: `${directory}/${file}`, kind: 'file', content }];
  });
  return [
    { name: 'etc/svc-repository', kind: 'file', content: `${repository}\n` },
    { name: 'etc/svc-version', kind: 'file', content: `v${version}\n` },
    { name: 'www/version', kind: 'file', content: `v${version}\n` },
    ...shipped,
  ];
}

function labels(version: string, options: ReleaseOptions): Record<string, string> {
  const label = options.versionLabel === undefined ? version : options.versionLabel;
  return {
    ...(label === null ? {} : { 'org.opencontainers.image.version': label }),
    ...options.labels,
  };
}

let base: Promise<Layer> | undefined;

/** Busybox, the first layer of all images: an engine unpacks it once. */
export function baseLayer(): Promise<Layer> {
  base ??= (async () => {
    const entry = await readFile(new URL('entry.sh', import.meta.url));
    return layer([
      { name: 'bin/busybox', kind: 'file', mode: 0o755, content: await busybox() },
      { name: 'bin/entry.sh', kind: 'file', mode: 0o755, content: entry },
      ...programs.map((name): TarEntry => ({ name: `bin/${name}`, kind: 'link', target: 'busybox' })),
      { name: 'tmp', kind: 'directory', mode: 0o1777 },
      { name: 'data', kind: 'directory' },
      { name: 'www/data', kind: 'link', target: '/data' },
    ]);
  })();
  return base;
}

export function layer(entries: TarEntry[]): Layer {
  const plain = tar(entries);
  // The fastest level: these bytes are only sent over loopback.
  return { ...blob(gzipSync(plain, { level: 1 })), diffId: sha256(plain) };
}

export function assemble(layers: Layer[], config: object, platforms?: string[]): Image {
  const [os, architecture] = (platforms?.[0] ?? machinePlatform).split('/');
  const settings = blob(
    json({
      os,
      architecture,
      created: '2026-01-01T00:00:00Z',
      config,
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    }),
  );
  const mediaType = 'application/vnd.docker.distribution.manifest.v2+json';
  const manifest = json({
    schemaVersion: 2,
    mediaType,
    config: { ...reference(settings), mediaType: 'application/vnd.docker.container.image.v1+json' },
    layers: layers.map((each) => ({
      ...reference(each),
      mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
    })),
  });
  return { blobs: [...layers, settings], manifest: { mediaType, bytes: manifest }, platforms };
}

function blob(bytes: Buffer): Blob {
  return { digest: sha256(bytes), bytes };
}

function reference({ digest, bytes }: Blob): { digest: string; size: number } {
  return { digest, size: bytes.length };
}

function environment(values: Record<string, string>): string[] {
  return Object.entries(values).map(([key, value]) => `${key}=${value}`);
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

export function sha256(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
