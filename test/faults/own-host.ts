import { basename, join } from 'node:path';
import { execa } from 'execa';
import { startRegistry } from '../rig/registry.ts';
import { openTestHost, type TestHost } from '../rig/test-host.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { SmallDisk } from './full-disk.ts';
import { bringUpLoopback, endWithParent, runInNamespaces } from './namespaces.ts';
import { loadImage, OwnEngine } from './own-engine.ts';

/** A machine of the tests' own: whatever happens to it, everybody else's containers run on. */
export interface OwnHost {
  host: TestHost;
  engine: OwnEngine;
  /** What the engine keeps its data on. */
  engineDisk: SmallDisk;
  /** What the compose directories are on, but for their `data`, which is on a disk of its own. */
  composeDisk: SmallDisk;
  close(): Promise<void>;
}

const variable = 'SVC_FAULTS_OWN_HOST';
const outerEngine = 'SVC_FAULTS_OUTER_ENGINE';

let current: OwnHost | undefined;

/** Its folder, in a process that `runInOwnHost` has started. */
export function ownDirectory(): string {
  const directory = process.env[variable];
  if (directory === undefined) throw new Error('not in a network of its own: see runInOwnHost');
  return directory;
}

/** The engine of those who have started this process. */
export const outerEngineOf = (): string | undefined => process.env[outerEngine];

/** The one that this process has opened. */
export function ownHost(): OwnHost {
  if (current === undefined) throw new Error('this fault needs an engine of its own: see openOwnHost');
  return current;
}

/** Runs a script of Node's where `openOwnHost` may be called; gives its exit code. */
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
 * Starts the engine, a registry and the test host, in a process that `runInOwnHost` has started.
 * @param flags more of them for the daemon
 */
export async function openOwnHost(
  flags: readonly string[] = [],
  composeBytes = 64_000_000,
): Promise<OwnHost> {
  const directory = ownDirectory();
  endWithParent();
  await bringUpLoopback(directory);
  // What is mounted here later is seen by the machine, which was started before.
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
    // Nothing has to be removed from an engine that goes away with all its data.
    close: async () => {
      await engine.cut();
      await registry.close();
    },
  };
  return current;
}

/**
 * A program that tries something on an engine of its own: prints what is wrong, a line each, and ends with 0 where nothing is.
 * @param prepare before the engine starts
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
