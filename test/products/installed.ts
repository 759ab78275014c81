import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { fastClock } from '../e2e/support/fast-clock.ts';
import { findContainers, removeNamed } from '../rig/engine-api.ts';
import { freePort } from '../rig/free-port.ts';
import type { TestHost } from '../rig/test-host.ts';
import { type UpdateResult, UpdaterRun } from '../rig/updater-run.ts';
import { filesAt, type Place } from './compose-file.ts';
import type { Form, Product, ReleaseName } from './product.ts';
import { publishOthers, publishRelease } from './stand-ins.ts';

/** Speed of the updater's clock: most of these apps have no health check, so that an update waits 15 s. */
const pace = 5;

/** A product as a user has installed it, at its old release. */
export class Installed {
  readonly product: Product;
  readonly form: Form;
  readonly directory: string;
  readonly place: Place;
  /** The output of the updater, in order. */
  readonly said: { words: string; result: UpdateResult }[] = [];

  /** Additional variables of the updater. */
  environment: Readonly<Record<string, string>> = {};

  readonly #published = new Set<ReleaseName>();

  private constructor(product: Product, form: Form, directory: string, place: Place) {
    this.product = product;
    this.form = form;
    this.directory = directory;
    this.place = place;
  }

  /** Publishes the images, writes the files, and starts the instance with `docker compose up -d`. */
  static async start(host: TestHost, product: Product, form: Form): Promise<Installed> {
    const name = `${host.run}-${randomBytes(3).toString('hex')}`;
    const empty: Place = { name, registry: `${host.registry}/${name}`, port: await freePort(), digests: {} };
    const place = { ...empty, digests: await publishOthers(product, empty) };
    const installed = new Installed(product, form, join(host.directory, name), place);
    try {
      await installed.publish('old');
      await mkdir(installed.directory, { recursive: true });
      for (const [file, text] of Object.entries(installed.files('old'))) {
        await writeFile(join(installed.directory, file), text);
      }
      await installed.compose('up', '-d', '--quiet-pull');
      await installed.waitUntilUp();
    } catch (error) {
      await installed.dispose();
      throw error;
    }
    return installed;
  }

  get name(): string {
    return this.place.name;
  }

  /** The files of the instance at a release. */
  files(release: ReleaseName): Record<string, string> {
    return filesAt(this.product, this.form, this.product.releases[release], this.place);
  }

  /** Publishes each release once. Floating tags point to the release published last. */
  async publish(release: ReleaseName): Promise<void> {
    if (this.#published.has(release)) return;
    await publishRelease(this.product, release, this.place);
    this.#published.add(release);
  }

  /** Runs `docker run … svc-updater WORDS` with an accelerated clock. */
  async run(...words: string[]): Promise<UpdateResult> {
    const result = await new UpdaterRun(this, words, { env: { ...fastClock(pace), ...this.environment } })
      .done;
    this.said.push({ words: words.join(' '), result });
    return result;
  }

  async compose(...args: string[]): Promise<string> {
    const { PATH = '', HOME = '/', DOCKER_HOST } = process.env;
    const { all } = await execa('docker', ['compose', ...args], {
      cwd: this.directory,
      env: { PATH, HOME, ...(DOCKER_HOST === undefined ? {} : { DOCKER_HOST }) },
      extendEnv: false,
      stdin: 'ignore',
      all: true,
      timeout: 120_000,
    });
    return all;
  }

  /** The response of the app; null if there is none. */
  async version(): Promise<string | null> {
    try {
      const url = `http://127.0.0.1:${this.place.port}/version`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(30_000) });
      return answer.ok ? (await answer.text()).trim() : null;
    } catch {
      return null;
    }
  }

  dispose(): Promise<void> {
    return removeNamed(this.name).then(() => rm(this.directory, { recursive: true, force: true }));
  }

  /** Waits until every container runs, containers with a health check are healthy, and the app responds. */
  async waitUntilUp(): Promise<void> {
    for (const end = performance.now() + 120_000; ; await sleep(100)) {
      // The containers that are prepared for a rollback belong to no service.
      const all = await findContainers(this.name);
      const found = all.filter(({ Config }) => Config.Labels['com.docker.compose.service'] !== undefined);
      const unwell = found.filter(
        ({ State }) => !State.Running || (State.Health?.Status ?? 'healthy') !== 'healthy',
      );
      if (found.length > 0 && unwell.length === 0 && (await this.version()) !== null) return;
      if (performance.now() > end)
        throw new Error(`${this.product.title} does not come up\n${await this.compose('logs')}`);
    }
  }
}
