import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { canonical } from '../../../scripts/lib/release/describe.ts';
import { bridgeAddress } from '../../rig/bridge-address.ts';
import { engineSocket } from '../../rig/engine-api.ts';
import { freePort } from '../../rig/free-port.ts';
import { assemble, baseLayer, layer } from '../../rig/image.ts';
import { Instance, started } from '../../rig/instance.ts';
import { push } from '../../rig/registry.ts';
import type { TestHost } from '../../rig/test-host.ts';
import { updaterImage } from '../../rig/updater-run.ts';
import { debianLayer } from './debian.ts';
import { platformPublisher } from './sign-release.ts';
import { python } from './stand-ins.ts';

const folder = fileURLToPath(new URL('../python/', import.meta.url));
const fileOf = (name: string) => readFile(join(folder, name), 'utf8');

/** Bytes in the image of a release that no other release has. */
export const ballast = 4_000_000;

/** The same for all releases, because a release older than the last offered one is refused. */
const publishedAt = new Date().toISOString();

/** The service calls only the callback `user`. */
const withoutQueue = 'services: { updates: { environment: { SVC_SERVE_QUEUE: none } } }\n';

/** Prints a secret, which must not appear in any log. */
const brokenUpdater = `console.error('cannot start with', process.env.SVC_SERVE_SECRET); process.exit(1);\n`;

/** The files of a feed, by their names. */
export interface Feed {
  files: Record<string, string | Uint8Array>;
  url: string;
  close(): Promise<void>;
}

/** A feed of static files, at an address that containers reach. */
export async function startFeed(files: Feed['files']): Promise<Feed> {
  const feed: Feed = { files, url: '', close };
  const server = createServer(({ url = '' }, answer) => {
    const file = feed.files[url.slice(1)];
    answer.writeHead(file ? 200 : 404).end(file);
  });
  async function close() {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  const address = await bridgeAddress();
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(0, address, () => resolve()),
  );
  feed.url = `http://${address}:${(server.address() as AddressInfo).port}/releases.json`;
  return feed;
}

/** The platform of test/platform/python, whose updates `svc-updater serve` serves, with v1.0.0. */
export async function startPythonPlatform(
  host: TestHost,
  options: Pick<PythonOptions, 'feed' | 'registry' | 'publish' | 'queue'> & { compose?: string },
): Promise<PythonPlatform> {
  const name = `${host.run}-${randomBytes(3).toString('hex')}`;
  return started(
    new PythonPlatform(host, {
      compose: await fileOf('compose.yaml'),
      ...options,
      name,
      port: await freePort(),
    }),
  );
}

interface PythonOptions {
  name: string;
  port: number;
  feed: Feed;
  registry: string;
  publish: string[];
  queue?: 'none';
  compose: string;
}

export class PythonPlatform extends Instance {
  readonly #host: TestHost;
  readonly #feed: Feed;
  /** The token of programs that act as an admin. */
  readonly token: string;

  /** The secret that the platform and the service share. */
  readonly secret: string;

  constructor(host: TestHost, { name, port, feed, registry, publish, compose, queue }: PythonOptions) {
    const [secret, token] = [randomBytes(24).toString('hex'), randomBytes(24).toString('hex')];
    super(host, name, port, {
      registry,
      publish,
      repository: 'larder',
      layout: (context) => ({
        files: {
          'compose.yaml': compose,
          ...(queue === 'none' && { 'compose.override.yaml': withoutQueue }),
          '.env': `LARDER_IMAGE=${context.image}
LARDER_VERSION=${context.tag}
LARDER_PORT=${context.port}
UPDATES_SECRET=${secret}
UPDATES_TOKEN=${token}
UPDATER_NAME=${name}-updater
DOCKER_SOCKET=${engineSocket}
`,
        },
        flags: [],
      }),
    });
    this.#host = host;
    this.#feed = feed;
    this.token = token;
    this.secret = secret;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /**
   * Signs a release, and pushes its images: the platform and its updates. The platform of v1.3.0, and the updater of
   * v1.4.0, do not start.
   */
  override async publish(version: string): Promise<string> {
    const repository = `${this.name}/larder`;
    const number = version.slice(1);
    const app = assemble(
      [
        await baseLayer(),
        await debianLayer(python),
        layer([{ name: 'srv/app.py', kind: 'file', content: await fileOf('app.py') }]),
        layer([{ name: 'srv/ballast', kind: 'file', content: randomBytes(ballast) }]),
      ],
      {
        Env: [
          ...['PATH=/usr/bin:/bin', 'PYTHONUNBUFFERED=1', `LARDER_VERSION=${version}`],
          ...(version === 'v1.3.0' ? ['LARDER_BROKEN=1'] : []),
        ],
        Entrypoint: ['/bin/sh', '-c', 'exec /usr/bin/python3.*[0-9] /srv/app.py'],
        // As process 1, Python only handles this signal.
        StopSignal: 'SIGINT',
        Labels: { 'org.opencontainers.image.version': number },
      },
    );
    const updates = `${this.#host.registry}/${repository}-updates:${version}`;
    const values = { UPDATER: updaterImage, VERSION: version };
    const context = join(this.directory, 'build', version);
    const feed = { url: this.#feed.url, trust: { keys: [platformPublisher.key] } };
    const file = await fileOf('serve.yaml');
    const settings = `${file}feed: ${JSON.stringify(feed)}\ncontainerName: ${this.name}-updater\n`;
    await this.write(`build/${version}/serve.yaml`, settings);
    const broken = version === 'v1.4.0' ? 'COPY agent.mjs /usr/local/lib/svc-updater/\n' : '';
    await this.write(`build/${version}/agent.mjs`, brokenUpdater);
    // The updater ignores the health check.
    const check = 'HEALTHCHECK --interval=1s --retries=1 CMD false\n';
    const dockerfile = await fileOf('updates.Dockerfile');
    await this.write(`build/${version}/Dockerfile`, `${dockerfile}${check}${broken}`);
    const flags = Object.entries(values).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]);
    await execa('docker', ['build', '--quiet', '--tag', updates, ...flags, context], {
      env: { DOCKER_BUILDKIT: '1' },
      timeout: 180_000,
    });
    const { stdout } = await execa('docker', ['push', updates], { timeout: 180_000 });
    const digests = {
      app: await push(this.#host.registry, repository, version, app),
      updates: /digest: (sha256:\S+)/.exec(stdout)?.[1] ?? '',
    };
    this.#sign(version, digests);
    return digests.app;
  }

  #sign(version: string, digests: Record<string, string>): void {
    const images = Object.fromEntries(
      Object.entries(digests).map(([service, digest]) => [
        service,
        {
          reference: `${this.image}${service === 'app' ? '' : '-updates'}:${version}`,
          digest,
          platforms: {},
        },
      ]),
    );
    const release = { format: 1, product: 'larder', version, channel: 'stable', publishedAt };
    const file = canonical({ ...release, images, files: {} });
    this.#feed.files[`${version}/release.json`] = file;
    this.#feed.files[`${version}/release.json.sigstore.json`] = platformPublisher.sign(file);
  }
}
