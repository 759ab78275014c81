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
  /** `127.0.0.1:port`, the way it stands in image references. */
  host: string;
  close(): Promise<void>;
}

/** The one that scripts/engine starts. */
const shared = '127.0.0.1:5000';

/** A real registry of the tests' own on a free loopback port, with its data in that directory. */
export async function startRegistry(directory: string): Promise<RegistryServer> {
  const program = await execa('sh', ['-c', 'command -v docker-registry'], { reject: false });
  // Where scripts/engine had to take a registry in a container, the tests share it: their repositories have names of their own.
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
  // The shell ends the registry when its own input ends, so that no registry outlives a killed test run.
  // Ctrl-C reaches the shell as well.
  const script = 'trap : INT TERM HUP; docker-registry serve "$1" & cat >/dev/null; kill $!; wait';
  const shell = spawn('sh', ['-c', script, 'registry', settings], { stdio: ['pipe', out, out] });
  const input = shell.stdin as Writable;
  const ended = new Promise<void>((resolve) => shell.once('exit', () => resolve()));
  // A registry must not keep alive the process of a test run that is over.
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

/** Makes an image and gives it a tag; what is special about well-known tags (`releases.ts`) comes by itself. */
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

/** Stores an image under a tag, moving the tag where it exists, and returns the manifest's digest. */
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

/** One image as it is, several in an index; as each has been built for the first of its platforms. */
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

/** As buildx pushes it: an index of the image, and of what is said of it, which is for no platform. */
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

/** Where all blobs are stored once; every other repository mounts them from there. */
const store = 'blobs';

const uploads = new Map<string, Promise<void>>();

/**
 * Once for each repository, even where several releases are published at a time: the registry does not write atomically,
 * and a blob that is stored again seems not to be there for a moment.
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
  // Where the store lacks it, the answer is 202 and an upload that nobody will finish.
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
