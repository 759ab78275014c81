import { equal, match } from 'node:assert/strict';
import { deployStack, type Node, openRegistry, type Stack, type StackOptions } from './swarm.ts';
import { expectUpdated, type Snapshot, snapshot } from './swarm-judge.ts';
import { runUpdater, type SwarmRunOptions, type SwarmRunResult } from './swarm-run.ts';

/** A deployed stack of one test, and its operations. */
export interface Try {
  stack: Stack;
  before: Snapshot;
  /** Updates the stack to a version, and waits for the end of the run. */
  update(version: string, how?: UpdateOptions): Promise<SwarmRunResult & { last: string; log: string }>;
  /** Updates the stack, and checks the outcome `updated` and all its promises. */
  updated(version: string, how?: UpdateOptions): Promise<Snapshot>;
}

interface UpdateOptions extends SwarmRunOptions {
  node?: Node;
  args?: readonly string[];
}

/** Deploys a stack, does the work, and removes the stack in any case. */
export async function onStack<T>(options: StackOptions, work: (tried: Try) => Promise<T>): Promise<T> {
  const stack = await deployStack({ version: '1.4.2', ...options });
  const update: Try['update'] = async (version, { node = 'n1', args = [], ...how } = {}) => {
    const words = ['--stack', stack.name, '--target', version, '--wait-timeout', '40', ...args];
    const result = await (await runUpdater(node, words, how)).done;
    return { ...result, last: result.lines.at(-1) ?? '', log: result.lines.join('\n') };
  };
  try {
    const before = await snapshot(stack);
    const updated: Try['updated'] = async (version, how) => {
      const { exitCode, log, last } = await update(version, how);
      match(last, new RegExp(`INFO  done updated v[\\d.]+ → v${version} in \\d+ s: `), log);
      equal(exitCode, 0);
      const after = await snapshot(stack);
      const moved = Object.keys(before.specs).filter((name) => name !== 'db');
      expectUpdated(before, after, Object.fromEntries(moved.map((name) => [name, version])));
      return after;
    };
    return await work({ stack, before, update, updated });
  } finally {
    await stack.remove();
  }
}

export const imageOf = ({ specs }: Snapshot, name: string): string =>
  specs[name]?.TaskTemplate.ContainerSpec.Image ?? '';

export const replicasOf = ({ specs }: Snapshot, name: string): number | undefined =>
  specs[name]?.Mode?.Replicated?.Replicas;

export const svcImage = (version: string, registry = openRegistry): string =>
  `${registry}/acme/svc:${version}`;
