import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { removeNamed } from '../rig/engine-api.ts';
import { freePort } from '../rig/free-port.ts';
import { push } from '../rig/registry.ts';
import type { TestHost } from '../rig/test-host.ts';
import { type UpdateResult, UpdaterRun } from '../rig/updater-run.ts';
import type { DatabaseKind } from './app/database.ts';
import type { Gate } from './app/writer.ts';
import { badReleases } from './bad-releases.ts';
import { bedCompose } from './compose-text.ts';
import { appPassword, databaseServices, ownerPassword } from './databases.ts';
import { buildBedRelease, buildWitness } from './images.ts';
import { askOwner, askReady } from './judge/databases.ts';
import type { Acknowledged } from './judge/live.ts';
import type { Place } from './judge/look.ts';
import { seeds } from './seed.ts';

export const goodTag = 'v1.1.0';
export const badTag = (name: string): string =>
  `v2.0.${badReleases.findIndex((each) => each.name === name) + 1}`;

const seeder = fileURLToPath(new URL('seed-files.py', import.meta.url));

/** An app with its worker, database, files in a volume and on a small disk, and other services; started by plain compose. */
export class BedInstance implements Place {
  readonly name: string;
  readonly directory: string;
  readonly project: string;
  readonly database: DatabaseKind;
  readonly trees: Record<string, string> = {};
  readonly #host: TestHost;
  readonly #ports: { app: number; witness: number };
  readonly #flags: readonly string[];

  private constructor(host: TestHost, database: DatabaseKind, ports: { app: number; witness: number }) {
    this.name = `${host.run}-${database}-${randomBytes(2).toString('hex')}`;
    this.directory = join(host.directory, this.name);
    this.database = database;
    this.#host = host;
    this.#ports = ports;
    // One of the projects is not named after its directory.
    this.project = database === 'mariadb' ? `${this.name}-shop` : this.name;
    this.#flags = database === 'mariadb' ? ['-p', this.project] : [];
  }

  static async start(host: TestHost, database: DatabaseKind): Promise<BedInstance> {
    const ports = { app: await freePort(), witness: await freePort() };
    const instance = new BedInstance(host, database, ports);
    try {
      await instance.#start();
    } catch (error) {
      await instance.dispose();
      throw error;
    }
    return instance;
  }

  /** The app's answer; null if there is none. */
  async version(): Promise<string | null> {
    const answer = await fetch(`http://127.0.0.1:${this.#ports.app}/version`, {
      signal: AbortSignal.timeout(3000),
    }).catch(() => null);
    return answer === null ? null : (await answer.text()).trim();
  }

  async setGate(gate: Gate): Promise<void> {
    await fetch(`http://127.0.0.1:${this.#ports.witness}/gate`, { method: 'PUT', body: gate });
  }

  async acknowledged(): Promise<Acknowledged> {
    const answer = await fetch(`http://127.0.0.1:${this.#ports.witness}/acknowledged`);
    return (await answer.json()) as Acknowledged;
  }

  /** Until app and worker have written something in starts that were not known before. */
  async awaitWrites(known: Acknowledged, version: string): Promise<void> {
    const isFresh = (role: string, all: Acknowledged) =>
      Object.entries(all).some(
        ([boot, n]) => boot.startsWith(`${role}-${version}-`) && n > (known[boot] ?? 0) + 3,
      );
    for (let tries = 0; tries < 300; tries++) {
      const all = await this.acknowledged();
      if (['app', 'worker'].every((role) => isFresh(role, all))) return;
      await sleep(100);
    }
    throw new Error(
      `app and worker of ${version} do not write:\n${await this.compose('logs', 'app', 'worker')}`,
    );
  }

  /** Until nothing is written any more. */
  async pause(): Promise<void> {
    await this.setGate('paused');
    let before = '';
    for (let tries = 0; tries < 100; tries++) {
      const now = JSON.stringify(await this.acknowledged());
      if (now === before) return;
      before = now;
      await sleep(300);
    }
    throw new Error('app and worker still write');
  }

  run(...args: string[]): Promise<UpdateResult> {
    return new UpdaterRun(this, args, { patience: 600 }).done;
  }

  async compose(...args: string[]): Promise<string> {
    const { all } = await execa('docker', ['compose', ...this.#flags, ...args], {
      cwd: this.directory,
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/' },
      extendEnv: false,
      stdin: 'ignore',
      all: true,
      timeout: 300_000,
    });
    return all;
  }

  async dispose(): Promise<void> {
    await removeNamed(this.name);
    await execa('umount', ['--lazy', join(this.directory, 'data')], { reject: false });
    await rm(this.directory, { recursive: true, force: true });
    await rm(`${this.directory}.ext4`, { force: true });
  }

  async #start(): Promise<void> {
    await Promise.all([this.#publish(), this.#writeFiles()]);
    const isFile = this.database === 'sqlite';
    await this.compose('up', '-d', 'witness', 'proxy', ...(isFile ? [] : ['db']));
    await this.compose('up', '--no-start', 'app', 'worker');
    for (const tree of isFile ? ['uploads', 'data'] : ['uploads'])
      this.trees[tree] = await mountpoint(`${this.project}_${tree}`);
    this.trees.files = join(this.directory, 'data');
    await execa('python3', [seeder, this.trees.uploads ?? '', '2000']);
    await execa('python3', [seeder, this.trees.files, '100']);
    await this.#seedDatabase();
    await this.compose('up', '-d', '--wait');
  }

  async #publish(): Promise<void> {
    const { registry } = this.#host;
    const publish = async (tag: string, bad?: string) =>
      push(registry, `${this.name}/svc`, tag, await buildBedRelease(this.database, tag, bad));
    await publish('v1.0.0');
    await publish(goodTag);
    for (const { name } of badReleases) await publish(badTag(name), name);
    await push(registry, `${this.name}/witness`, '1', await buildWitness());
  }

  async #writeFiles(): Promise<void> {
    await mkdir(join(this.directory, 'data'), { recursive: true });
    // A disk that a release can fill.
    const disk = `${this.directory}.ext4`;
    await execa('truncate', ['-s', '24M', disk]);
    await execa('mkfs.ext4', ['-q', disk], { env: { PATH: `${process.env.PATH}:/usr/sbin` } });
    await execa('mount', ['-o', 'loop', disk, join(this.directory, 'data')]);
    const image = (await databaseServices[this.database]?.image()) ?? '';
    await writeFile(join(this.directory, 'compose.yaml'), bedCompose(this.database, image));
    const settings = {
      SVC_IMAGE: `${this.#host.registry}/${this.name}/svc`,
      SVC_VERSION: 'v1.0.0',
      WITNESS_IMAGE: `${this.#host.registry}/${this.name}/witness:1`,
      PROXY_IMAGE: `${this.#host.parts}/proxy:1`,
      APP_PORT: this.#ports.app,
      WITNESS_PORT: this.#ports.witness,
      DB_PASSWORD: `'${appPassword}'`,
      DB_ROOT_PASSWORD: `'${ownerPassword}'`,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(join(this.directory, '.env'), lines.join(''));
  }

  async #seedDatabase(): Promise<void> {
    if (this.database === 'sqlite') {
      const database = new DatabaseSync(join(this.trees.data ?? '', 'svc.db'));
      database.exec(seeds.sqlite);
      return database.close();
    }
    for (let tries = 0; ; tries++) {
      try {
        await askReady(this);
        break;
      } catch (error) {
        if (tries === 120) throw new Error(await this.compose('logs', 'db'), { cause: error });
        await sleep(500);
      }
    }
    await askOwner(this, seeds[this.database]);
    // A restart makes MariaDB forget reserved numbers of AUTO_INCREMENT.
    await this.compose('restart', 'db');
  }
}

async function mountpoint(volume: string): Promise<string> {
  const { stdout } = await execa('docker', ['volume', 'inspect', '--format', '{{.Mountpoint}}', volume]);
  return stdout;
}
