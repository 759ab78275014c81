import { execa } from 'execa';
import { parseEventLine } from '../../src/core/progress/log-line.ts';
import { type Look, look } from '../judge/look.ts';
import { askEngine } from '../rig/engine-api.ts';
import { type Instance, startInstance } from '../rig/instance.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import type { TestHost } from '../rig/test-host.ts';
import type { UpdateResult, UpdaterOptions, UpdaterRun } from '../rig/updater-run.ts';
import { type InstallName, instanceOptions, type Release, releaseOf } from './install.ts';

/** The state of an instance before the fault, from which the expected state follows. */
export interface Before extends Look {
  release: Release;
}

/** One run of the updater, for the log of a lost try. */
interface Run {
  what: string;
  name: string;
  log(): string;
}

/** An instance for faults. It is updated from release to release. */
export class Subject {
  readonly instance: Instance;
  readonly install: InstallName;
  /** The release that it is known to run. */
  release: Release;
  /** Number of survived tries. */
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

  /** Publishes the next release, which is good unless the options change it; a floating tag then points to it. */
  async publish(options: ReleaseOptions = {}): Promise<Release> {
    this.#newest++;
    return this.publishAgain(releaseOf(this.install, this.#newest, options));
  }

  /** Publishes a fixed release under the name of the existing one. */
  async publishAgain(release: Release): Promise<Release> {
    await this.instance.publish(release.tag, release.options);
    return release;
  }

  /** Starts the updater without waiting for its end. */
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

  /** Runs `docker start` for a retained updater container, and waits until it exits. */
  async startAgain({ name }: UpdaterRun): Promise<UpdateResult> {
    const began = performance.now();
    const { exitCode, all } = await execa('docker', ['start', '--attach', name], {
      all: true,
      reject: false,
      stdin: 'ignore',
      timeout: 180_000,
    });
    this.runs.push({ what: 'docker start', name, log: () => all });
    const lines = all.split('\n').flatMap((line) => parseEventLine(line) ?? []);
    return { exitCode: exitCode ?? -1, log: all, lines, durationMs: performance.now() - began };
  }

  /** Removes a retained updater container. */
  async forget({ name }: UpdaterRun): Promise<void> {
    await askEngine('DELETE', `/containers/${name}?force=1&v=1`);
  }

  async look(): Promise<Before> {
    return { ...(await look(this.instance)), release: this.release };
  }
}
