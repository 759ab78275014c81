import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { assemble, baseLayer, type Image, type Layer, layer } from '../../rig/image.ts';
import { bundle } from '../../rig/server/bundle.ts';
import { nodeLayer } from '../../rig/server/node-layer.ts';
import type { TarEntry } from '../../rig/tar.ts';
import { composeOf, type PlatformRelease } from '../releases.ts';
import { debianLayer } from './debian.ts';
import { caddy, postgres } from './stand-ins.ts';

const path = '/usr/bin:/bin';
const here = new URL('../', import.meta.url);

/**
 * The image of a release: svc, Node, the compose file of the release, and the trusted public key.
 * @param key the public key of its publisher
 */
export async function buildRelease(release: PlatformRelease, key: string): Promise<Image> {
  const { version, requires, needs = '', bootSeconds = 2, ballast = 0, postgres, settings } = release;
  const own: TarEntry[] = [
    { name: 'etc/svc-version', kind: 'file', content: `${version}\n` },
    { name: 'etc/svc-publisher.pem', kind: 'file', content: key },
    { name: 'usr/share/svc/release/compose.yaml', kind: 'file', content: await composeOf(release) },
    { name: 'srv/ballast', kind: 'file', content: randomBytes(ballast) },
  ];
  return assemble([...(await svcLayers()), layer(own)], {
    Env: [
      ...[`PATH=${path}`, `NEEDS=${needs}`, `BOOT_SECONDS=${bootSeconds}`, 'NODE_ENV=production'],
      ...(release.hasBrokenLogin ? ['BROKEN_LOGIN=1'] : []),
    ],
    Entrypoint: ['/bin/node', '/srv/svc.mjs'],
    Cmd: ['app'],
    Labels: {
      'org.opencontainers.image.version': version.replace(/^v/, ''),
      ...(requires === undefined ? {} : { 'svc.release-requires': requires }),
      'svc.ready': JSON.stringify(['/bin/node', '/srv/svc.mjs', 'ready']),
      ...(postgres !== undefined && {
        'svc.preflight': JSON.stringify(['/bin/node', '/srv/svc.mjs', 'preflight', String(postgres)]),
      }),
      ...(settings !== undefined && { 'svc.settings': JSON.stringify(settings) }),
    },
  });
}

/** The layers shared by all releases, so that an engine unpacks Node only once. */
export async function buildBase(): Promise<Image> {
  return assemble(await svcLayers(), { Cmd: ['app'] });
}

let svc: Promise<Layer[]> | undefined;

function svcLayers(): Promise<Layer[]> {
  svc ??= Promise.all([...programLayers(), svcFiles().then(layer)]);
  return svc;
}

/**
 * Shared layers in the same order in every image, beginning with layers of other test images: an engine unpacks them
 * once.
 */
const programLayers = () => [baseLayer(), nodeLayer()];

/** The platform as one file, its assets for browsers, and the published update elements. */
async function svcFiles(): Promise<TarEntry[]> {
  const [program, elements] = await Promise.all([bundle(new URL('svc/main.ts', here)), readElements()]);
  const assets = fileURLToPath(new URL('svc/assets/', here));
  const files = (await readdir(assets)).map(async (name): Promise<TarEntry> => {
    return { name: `srv/assets/${name}`, kind: 'file', content: await readFile(`${assets}${name}`) };
  });
  return [
    { name: 'srv/svc.mjs', kind: 'file', content: program },
    { name: 'srv/assets/svc-updater.mjs', kind: 'file', content: elements },
    ...(await Promise.all(files)),
  ];
}

/** As built by `npm run build`. */
function readElements(): Promise<Buffer> {
  return readFile(new URL('../../dist/web/index.mjs', here)).catch((cause) => {
    throw new Error('the platform shows what npm run build makes', { cause });
  });
}

/** Replaces the public image of PostgreSQL. */
export async function buildDatabase(): Promise<Image> {
  const entry = await readFile(new URL('deploy/postgres-entry.sh', here));
  const files: TarEntry[] = [
    { name: 'bin/postgres-entry.sh', kind: 'file', mode: 0o755, content: entry },
    { name: 'etc/passwd', kind: 'file', content: 'root:x:0:0::/:/bin/sh\npostgres:x:999:999::/:/bin/sh\n' },
    { name: 'etc/group', kind: 'file', content: 'root:x:0:\npostgres:x:999:\n' },
  ];
  const tools = ['mkdir', 'chown', 'chmod', 'rm', 'start-stop-daemon'];
  const links = tools.map((name): TarEntry => ({ name: `bin/${name}`, kind: 'link', target: 'busybox' }));
  return assemble(
    [...(await Promise.all([...programLayers(), debianLayer(postgres)])), layer([...links, ...files])],
    {
      Env: [`PATH=${path}`],
      Entrypoint: ['/bin/postgres-entry.sh'],
      StopSignal: 'SIGINT',
      Volumes: { '/var/lib/postgresql/data': {} },
    },
  );
}

/** Replaces the public image of Caddy. */
export async function buildProxy(): Promise<Image> {
  return assemble([await baseLayer(), await debianLayer(caddy)], {
    Env: [`PATH=${path}`, 'XDG_CONFIG_HOME=/config', 'XDG_DATA_HOME=/data'],
    Cmd: ['caddy', 'run', '--config', '/etc/caddy/Caddyfile', '--adapter', 'caddyfile'],
  });
}
