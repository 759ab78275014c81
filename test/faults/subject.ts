import { execa } from 'execa';
import { parseLine } from '../../src/core/progress/log-line.ts';
import { type Look, look } from '../judge/look.ts';
import { askEngine } from '../rig/engine-api.ts';
import { type Instance, startInstance } from '../rig/instance.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import type { TestHost } from '../rig/test-host.ts';
import type { UpdateResult, UpdaterOptions, UpdaterRun } from '../rig/updater-run.ts';
import { type InstallName, instanceOptions, type Release, releaseOf } from './install.ts';

/** What an instance was before the fault: what must be there afterwards follows from it. */
export interface Before extends Look {
  release: Release;
}

/** One run of the updater, for the log of a lost try. */
interface Run {
  what: string;
  name: string;
  log(): string;
}

/** An instance that faults are tried on: it goes upward, release by release. */
export class Subject {
  readonly instance: Instance;
  readonly install: InstallName;
  /** The one that it is known to run. */
  release: Release;
  /** Tries that it has survived. */
  tries = 0;
  runs: Run[] = [];
  #newest: number;

  constructor(instance: Instance, install: InstallName) {
    this.instance = instance;
    this.install = install;
    this.release = releaseOf(install, 0);
    this.#newest = 0;
  }

  static async start(host: TestHost, install: InstallName, options?: InstanceOptions): Promise<Subject> {
    return new Subject(await startInstance(host, instanceOptions(install, options)), install);
  }

  /** Publishes the next release, good but for the options; a floating tag moves. */
  async publish(options: ReleaseOptions = {}): Promise<Release> {
    this.#newest++;
    return this.publishAgain(releaseOf(this.install, this.#newest, options));
  }

  /** Publishes a release once more, in place of one of the same name: its publisher has mended it. */
  async publishAgain(release: Release): Promise<Release> {
    await this.instance.publish(release.tag, release.options);
    return release;
  }

  /** Starts the updater and leaves it running. */
  start(release: Pick<Release, 'args'>, options: UpdaterOptions = {}, ...more: string[]): UpdaterRun {
    const args = [...release.args, ...more];
    const updater = this.instance.startUpdate(args, options);
    this.runs.push({ what: args.join(' ') || 'no target', name: updater.name, log: () => updater.log });
    return updater;
  }

  /** Runs the updater to its end. */
  update(
    release: Pick<Release, 'args'>,
    options: UpdaterOptions = {},
    ...more: string[]
  ): Promise<UpdateResult> {
    return this.start(release, options, ...more).done;
  }

  /** `docker start` of an updater's container that was kept, to its end. */
  async startAgain({ name }: UpdaterRun): Promise<UpdateResult> {
    const began = performance.now();
    const { exitCode, all } = await execa('docker', ['start', '--attach', name], {
      all: true,
      reject: false,
      stdin: 'ignore',
      timeout: 180_000,
    });
    this.runs.push({ what: 'docker start', name, log: () => all });
    const lines = all.split('\n').flatMap((line) => parseLine(line) ?? []);
    return { exitCode: exitCode ?? -1, log: all, lines, durationMs: performance.now() - began };
  }

  /** Removes an updater's container that was kept. */
  async forget({ name }: UpdaterRun): Promise<void> {
    await askEngine('DELETE', `/containers/${name}?force=1&v=1`);
  }

  async look(): Promise<Before> {
    return { ...(await look(this.instance)), release: this.release };
  }
}
