import { homedir } from 'node:os';
import { join } from 'node:path';
import { Engine } from '../../engine/cli/engine.ts';
import type { Product } from '../../progress/product.ts';
import { engineAddress } from './engine-address.ts';
import { version } from './version.ts';

/** An engine that is shut down may hold a connection open. */
const deadlineMs = 4_000;

/** What `--version` prints: the updater, what it brings, and the engine where one answers. */
export async function versionLine(
  { name }: Product,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const configDirectory = join(homedir(), '.docker');
  const engine = new Engine({ ...engineAddress(env), configDirectory }, { home: homedir() });
  const parts = await Promise.all([
    told(engine, 'docker CLI', ['version', '--format', '{{.Client.Version}}']),
    told(engine, 'compose', ['compose', 'version', '--short']),
    told(engine, 'engine', ['version', '--format', '{{.Server.Version}}']),
  ]);
  return `${name}-updater ${[version, ...parts.flat()].join(', ')}\n`;
}

/** Nothing where the command is not there, or finds no engine. */
async function told(engine: Engine, of: string, args: readonly string[]): Promise<string[]> {
  const { stdout } = await engine.call(args, { deadlineMs });
  const [first = ''] = stdout.trim().split('\n');
  return /^v?\d/.test(first) ? [`${of} ${first}`] : [];
}
