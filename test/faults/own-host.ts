import { basename, join } from 'node:path';
import { execa } from 'execa';
import { startRegistry } from '../rig/registry.ts';
import { openTestHost, type TestHost } from '../rig/test-host.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { SmallDisk } from './full-disk.ts';
import { bringUpLoopback, endWithParent, runInNamespaces } from './namespaces.ts';
import { loadImage, OwnEngine } from './own-engine.ts';

/** A machine of the tests: faults on it do not affect unrelated containers. */
export interface OwnHost {
  host: TestHost;
  engine: OwnEngine;
  /** The disk of the engine's data. */
  engineDisk: SmallDisk;
  /** The disk of the compose directories, without their `data`, which is on a separate disk. */
  composeDisk: SmallDisk;
  close(): Promise<void>;
}

const variable = 'SVC_FAULTS_OWN_HOST';
const outerEngine = 'SVC_FAULTS_OUTER_ENGINE';

let current: OwnHost | undefined;

/** The directory of the host, in a process started by `runInOwnHost`. */
export function ownDirectory(): string {
  const directory = process.env[variable];
  if (directory === undefined) throw new Error('not in a network of its own: see runInOwnHost');
  return directory;
}

/** The engine of the process that started this process. */
export const outerEngineOf = (): string | undefined => process.env[outerEngine];

/** The host that this process has opened. */
export function ownHost(): OwnHost {
  if (current === undefined) throw new Error('this fault needs an engine of its own: see openOwnHost');
  return current;
}

/** Runs a Node script in which `openOwnHost` may be called. Returns its exit code. */
export function runInOwnHost(script: string, args: readonly string[]): Promise<number> {
  const { DOCKER_HOST } = process.env;
  return runInNamespaces(script, args, {
    env: (directory) => ({
      ...(DOCKER_HOST === undefined ? {} : { [outerEngine]: DOCKER_HOST }),
      [variable]: directory,
      DOCKER_HOST: `unix://${join(directory, 'docker.sock')}`,
    }),
  });
}

/**
 * Starts the engine, a registry and the test host, in a process started by `runInOwnHost`.
 * @param flags additional flags of the daemon
 */
export async function openOwnHost(
  flags: readonly string[] = [],
  composeBytes = 64_000_000,
): Promise<OwnHost> {
  const directory = ownDirectory();
  endWithParent();
  await bringUpLoopback(directory);
  // Makes later mounts visible inside the machine, which was started earlier.
  await execa('mount', ['--make-rshared', '/'], { timeout: 10_000 });
  const engineDisk = await SmallDisk.mount(join(directory, 'data'), 4_000_000_000);
  const composeDisk = await SmallDisk.mount(join(directory, 'compose'), composeBytes);
  const engine = new OwnEngine(directory, basename(directory), flags);
  await engine.start();
  await loadImage(updaterImage, outerEngineOf(), `unix://${engine.socket}`);
  const registry = await startRegistry(join(directory, 'registry'));
  const { host } = await openTestHost({ directory: composeDisk.directory, registry: registry.host });
  current = {
    host,
    engine,
    engineDisk,
    composeDisk,
    // The engine is removed with all its data.
    close: async () => {
      await engine.cut();
      await registry.close();
    },
  };
  return current;
}

/**
 * A program that tests something on its own engine: prints each error on a line, and exits with 0 if there are none.
 * @param prepare called before the engine starts
 */
export async function tryOnOwnHost(
  script: string,
  tryIt: (own: OwnHost) => Promise<string[]>,
  { flags = [], prepare }: { flags?: readonly string[]; prepare?: () => Promise<void> } = {},
): Promise<void> {
  if (process.env[variable] === undefined) {
    process.exitCode = await runInOwnHost(script, []);
    return;
  }
  await prepare?.();
  const own = await openOwnHost(flags);
  const facts = await tryIt(own).catch((error: Error) => [error.stack ?? error.message]);
  for (const fact of facts) console.log(fact);
  await own.close();
  process.exit(facts.length > 0 ? 1 : 0);
}
