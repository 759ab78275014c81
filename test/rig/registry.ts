import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { type Blob, buildImage, type Image, sha256 } from './image.ts';
import { type ReleaseOptions, releases } from './releases.ts';

export interface RegistryServer {
  /** `127.0.0.1:port`, as in image references. */
  host: string;
  close(): Promise<void>;
}

/** The registry that scripts/engine starts. */
const shared = '127.0.0.1:5000';

/** Starts a real registry for the tests on a free loopback port, with its data in that directory. */
export async function startRegistry(directory: string): Promise<RegistryServer> {
  const program = await execa('sh', ['-c', 'command -v docker-registry'], { reject: false });
  // If scripts/engine had to start a registry in a container, tests share it: their repositories have different names.
  if (program.exitCode !== 0) return { host: shared, close: async () => {} };
  await mkdir(directory, { recursive: true });
  const settings = join(directory, 'registry.yml');
  const log = join(directory, 'registry.log');
  await writeFile(
    settings,
    `version: 0.1
log: { level: info, accesslog: { disabled: true } }
storage:
  filesystem: { rootdirectory: ${join(directory, 'data')} }
  delete: { enabled: true }
http: { addr: '127.0.0.1:0' }
`,
  );
  const out = openSync(log, 'w');
  // The shell stops the registry when its own input is closed, so that no registry outlives a killed test run. Ctrl-C
  // reaches the shell, too.
  const script = 'trap : INT TERM HUP; docker-registry serve "$1" & cat >/dev/null; kill $!; wait';
  const shell = spawn('sh', ['-c', script, 'registry', settings], { stdio: ['pipe', out, out] });
  const input = shell.stdin as Writable;
  const ended = new Promise<void>((resolve) => shell.once('exit', () => resolve()));
  // The registry must not keep the process of a finished test run alive.
  shell.unref();

  for (let tries = 0; tries < 2_400; tries++) {
    await sleep(25);
    const port = /listening on 127\.0\.0\.1:(\d+)/.exec(await readFile(log, 'utf8'))?.[1];
    if (port === undefined) continue;
    return {
      host: `127.0.0.1:${port}`,
      close: async () => {
        shell.ref();
        input.end();
        await ended;
      },
    };
  }
  input.end();
  throw new Error(`docker-registry does not start: ${await readFile(log, 'utf8')}`);
}

/** Builds an image and tags it; well-known tags (`releases.ts`) have options of their own. */
export async function publish(
  host: string,
  repository: string,
  tag: string,
  options: ReleaseOptions = releases[tag] ?? {},
): Promise<string> {
  const { builds } = options;
  if (builds === undefined) return push(host, repository, tag, await buildImage(repository, tag, options));
  const images = await Promise.all(
    builds.map((platform) => {
      const env = { ...options.env, ARCH: platform.replace(/.*\//, '') };
      return buildImage(repository, tag, { ...options, env, platforms: [platform] });
    }),
  );
  return pushBuilds(host, { repository, tag }, images);
}

/** Stores an image, points the tag to it, and returns the digest of the manifest. */
export async function push(host: string, repository: string, tag: string, image: Image): Promise<string> {
  await Promise.all(image.blobs.map((blob) => upload(host, repository, blob)));
  if (image.attestation !== undefined)
    return pushAttested(host, { repository, tag }, image, image.attestation);
  if (image.platforms === undefined) {
    await putManifest(host, repository, tag, image.manifest);
    return sha256(image.manifest.bytes);
  }
  const digest = sha256(image.manifest.bytes);
  await putManifest(host, repository, digest, image.manifest);
  const mediaType = 'application/vnd.docker.distribution.manifest.list.v2+json';
  const manifests = image.platforms.map((platform) => {
    const [os, architecture] = platform.split('/');
    const size = image.manifest.bytes.length;
    return { mediaType: image.manifest.mediaType, digest, size, platform: { os, architecture } };
  });
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests }));
  await putManifest(host, repository, tag, { mediaType, bytes });
  return sha256(bytes);
}

/** One build is pushed as it is, several as an index; each was built for its first platform. */
async function pushBuilds(
  host: string,
  { repository, tag }: { repository: string; tag: string },
  images: readonly Image[],
): Promise<string> {
  const manifests = await Promise.all(
    images.map(async ({ blobs, manifest: { mediaType, bytes }, platforms }) => {
      await Promise.all(blobs.map((blob) => upload(host, repository, blob)));
      const digest = sha256(bytes);
      await putManifest(host, repository, digest, { mediaType, bytes });
      const [os, architecture] = (platforms?.[0] ?? '').split('/');
      return { mediaType, digest, size: bytes.length, platform: { os, architecture } };
    }),
  );
  const [only, ...others] = images;
  const mediaType = 'application/vnd.docker.distribution.manifest.list.v2+json';
  const index = { mediaType, bytes: Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests })) };
  const manifest = only !== undefined && others.length === 0 ? only.manifest : index;
  await putManifest(host, repository, tag, manifest);
  return sha256(manifest.bytes);
}

/** Like buildx: an index with the image and an attestation, which has no platform. */
async function pushAttested(
  host: string,
  { repository, tag }: { repository: string; tag: string },
  image: Image,
  attestation: Image,
): Promise<string> {
  await Promise.all(attestation.blobs.map((blob) => upload(host, repository, blob)));
  const [own, said] = await Promise.all(
    [image, attestation].map(async ({ manifest }) => {
      const digest = sha256(manifest.bytes);
      await putManifest(host, repository, digest, manifest);
      return { mediaType: manifest.mediaType, digest, size: manifest.bytes.length };
    }),
  );
  const { os, architecture } = JSON.parse(String(image.blobs.at(-1)?.bytes));
  const mediaType = 'application/vnd.oci.image.index.v1+json';
  const annotations = {
    'vnd.docker.reference.digest': own?.digest,
    'vnd.docker.reference.type': 'attestation-manifest',
  };
  const manifests = [
    { ...own, platform: { os, architecture } },
    { ...said, platform: { os: 'unknown', architecture: 'unknown' }, annotations },
  ];
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests }));
  await putManifest(host, repository, tag, { mediaType, bytes });
  return sha256(bytes);
}

/** The repository that stores all blobs once; all other repositories mount blobs from it. */
const store = 'blobs';

const uploads = new Map<string, Promise<void>>();

/**
 * Once for each repository, even if several releases are published at the same time: the registry does not write
 * atomically, and a blob that is stored again is missing for a moment.
 */
function upload(host: string, repository: string, blob: Blob): Promise<void> {
  const key = `${host}/${repository}@${blob.digest}`;
  const running = uploads.get(key) ?? uploadNow(host, repository, blob);
  uploads.set(key, running);
  running.catch(() => uploads.delete(key));
  return running;
}

async function uploadNow(host: string, repository: string, blob: Blob): Promise<void> {
  if (await mount(host, repository, blob)) return;
  const started = await ask(`http://${host}/v2/${store}/blobs/uploads/`, { method: 'POST' });
  const url = new URL(started.headers.get('location') ?? '', `http://${host}`);
  url.searchParams.set('digest', blob.digest);
  await ask(url.href, { method: 'PUT', body: new Uint8Array(blob.bytes) });
  // Another process may be storing the same blob.
  for (let tries = 0; tries < 2_400; tries++) {
    if (await mount(host, repository, blob)) return;
    await sleep(25);
  }
  throw new Error(`${repository} cannot have ${blob.digest}`);
}

async function mount(host: string, repository: string, blob: Blob): Promise<boolean> {
  const url = `http://${host}/v2/${repository}/blobs/uploads/?mount=${blob.digest}&from=${store}`;
  // If the store lacks the blob, the response is 202, and the started upload is never finished.
  return (await ask(url, { method: 'POST' })).status === 201;
}

async function putManifest(
  host: string,
  repository: string,
  reference: string,
  manifest: { mediaType: string; bytes: Buffer },
): Promise<void> {
  await ask(`http://${host}/v2/${repository}/manifests/${reference}`, {
    method: 'PUT',
    headers: { 'Content-Type': manifest.mediaType },
    body: new Uint8Array(manifest.bytes),
  });
}

async function ask(url: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(30_000) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${init.method} ${url}: ${answer.status} ${text}`);
  return answer;
}
