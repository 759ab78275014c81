import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { execa } from 'execa';
import { askEngine, engineSocket } from '../../rig/engine-api.ts';
import { freePort } from '../../rig/free-port.ts';
import { Instance, started } from '../../rig/instance.ts';
import type { LayoutContext } from '../../rig/layout.ts';
import { push } from '../../rig/registry.ts';
import type { TestHost } from '../../rig/test-host.ts';
import { updaterImage } from '../../rig/updater-run.ts';
import { composeOf, platformReleases, releaseOf } from '../releases.ts';
import { buildBase, buildDatabase, buildProxy, buildRelease } from './images.ts';
import { platformPublisher, signRelease } from './sign-release.ts';

export interface PlatformOptions {
  /** Part of the name of everything that belongs to the platform. */
  name?: string;
  /** The address of the releases for the app. */
  feed: string;
  /** `127.0.0.1:port` of a registry in front of the registry of the run. */
  registry: string;
  /** The folder of the release assets. */
  assets: string;
  /** The trusted publisher; by default the publisher that signs all releases here. */
  publisherKey?: string;
  /** Releases to push besides v1.0.0; by default all. */
  releases?: readonly string[];
  /** The images of proxy and database, if not stand-ins. */
  images?: { proxy?: string | undefined; db?: string | undefined };
  /** The name of the updater's container, in case the default name is taken. */
  updaterName?: string;
  /** The path of the engine's socket on the host, if not the engine's own. */
  socket?: string;
}

/** The demo platform with v1.0.0: proxy, app, worker, database, and a separate build server. */
export async function startPlatform(host: TestHost, options: PlatformOptions): Promise<Platform> {
  const parts = await shareParts(host);
  const name = options.name ?? `${host.run}-${randomBytes(3).toString('hex')}`;
  return started(new Platform(host, name, await freePort(), { ...parts, ...options }));
}

export interface Parts {
  /** Node and svc. */
  base: string;
  proxy: string;
  db: string;
}

const shared = new Map<string, Promise<Parts>>();

/** Created once for a run: the images that no update changes, and the shared layers of all releases. */
export function shareParts(host: TestHost): Promise<Parts> {
  const parts = shared.get(host.run) ?? sharePartsNow(host);
  shared.set(host.run, parts);
  parts.catch(() => shared.delete(host.run));
  return parts;
}

async function sharePartsNow({ registry, run }: TestHost): Promise<Parts> {
  const images = { proxy: buildProxy, db: buildDatabase, base: buildBase };
  const references = await Promise.all(
    Object.entries(images).map(async ([name, build]) => {
      const repository = `${run}/platform-${name}`;
      await push(registry, repository, '1', await build());
      return [name, `${registry}/${repository}`] as const;
    }),
  );
  const { base = '', proxy = '', db = '' } = Object.fromEntries(references);
  const { status, body } = await askEngine(
    'POST',
    `/images/create?fromImage=${encodeURIComponent(base)}&tag=1`,
  );
  if (status !== 200 || body.includes('"error"')) throw new Error(`the platform's base: ${status} ${body}`);
  return { base: `${base}:1`, proxy: `${proxy}:1`, db: `${db}:1` };
}

export class Platform extends Instance {
  readonly #host: TestHost;
  readonly #assets: string;
  readonly #publisherKey: string;
  readonly #agentToken: string;
  /** The token of programs that act as an admin. */
  readonly apiToken: string;

  constructor(host: TestHost, name: string, port: number, options: PlatformOptions & Parts) {
    const [agentToken, apiToken, password] = [secret(), secret(), secret()];
    const { socket = engineSocket } = options;
    const values = (c: LayoutContext): Record<string, string> => ({
      SVC_IMAGE: c.image,
      SVC_VERSION: c.tag,
      SVC_PORT: String(c.port),
      DB_PASSWORD: password,
      FEED_URL: options.feed,
      AGENT_TOKEN: agentToken,
      API_TOKEN: apiToken,
      PROXY_IMAGE: options.images?.proxy ?? options.proxy,
      DB_IMAGE: options.images?.db ?? options.db,
      UPDATER_IMAGE: updaterImage,
      UPDATER_NAME: options.updaterName ?? `${name}-svc-updater`,
      // Built on this machine and not in any registry.
      UPDATER_PULL: 'missing',
      ...(socket === '/var/run/docker.sock' ? {} : { SVC_SOCKET: socket }),
    });
    super(host, name, port, {
      registry: options.registry,
      publish: [...(options.releases ?? platformReleases.slice(1).map(({ version }) => version))],
      layout: (context) => ({
        files: {
          ...files,
          '.env': Object.entries(values(context))
            .map(([key, value]) => `${key}=${value}\n`)
            .join(''),
        },
        flags: [],
      }),
    });
    this.#host = host;
    this.#assets = options.assets;
    this.#publisherKey = options.publisherKey ?? platformPublisher.key;
    this.#agentToken = agentToken;
    this.apiToken = apiToken;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  override async start(): Promise<void> {
    await super.start();
    await this.#startBuildServer();
  }

  /** Signs and pushes a release; a release without a tag is not pushed. */
  override async publish(version: string): Promise<string> {
    const release = releaseOf(version);
    const { tag = version } = release;
    const image = await buildRelease(release, this.#publisherKey);
    const reference = `${this.image}:${tag ?? version}`;
    await signRelease(release, image, { reference, folder: this.#assets });
    return tag === null ? '' : push(this.#host.registry, `${this.name}/svc`, tag, image);
  }

  /** Runs a query and returns the output of `psql`. */
  async sql(query: string): Promise<string> {
    return (await this.compose('exec', '-T', 'db', 'psql', '-U', 'svc', '-Atc', query)).trim();
  }

  /** `svc-worker` in agent mode, as on another machine: not part of the project, and not updated with it. */
  async #startBuildServer(): Promise<void> {
    const environment = [`SVC_URL=${this.url}`, `AGENT_TOKEN=${this.#agentToken}`, 'AGENT_NAME=build-1'];
    const flags = environment.flatMap((line) => ['-e', line]);
    const name = ['--name', `${this.name}-build-1`, '--network', 'host'];
    await execa('docker', ['run', '--detach', ...name, ...flags, `${this.image}:v1.0.0`, 'agent'], {
      timeout: 60_000,
    });
  }
}

const deployed = (name: string) => readFile(new URL(`../deploy/${name}`, import.meta.url), 'utf8');
const files = {
  'compose.yaml': await composeOf(releaseOf('v1.0.0')),
  'proxy/Caddyfile': await deployed('Caddyfile'),
  'proxy/updating.html': await deployed('updating.html'),
};

const secret = () => randomBytes(12).toString('hex');
