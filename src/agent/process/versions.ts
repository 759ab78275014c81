import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pingApi } from '../../engine/api/api.ts';
import type { EngineFacts } from '../../engine/api/query.ts';
import { Engine } from '../../engine/cli/engine.ts';
import { isAtLeast } from '../../engine/http/api-version.ts';
import type { Product } from '../../progress/product.ts';
import { engineAddress } from './engine-address.ts';

/** Of this build; the bundler puts it in. */
export const version: string = process.env.SVC_UPDATER_BUILD_VERSION ?? 'dev';

/** The versions of what the image has beside this program. */
interface Programs {
  /** Of the docker command: `29.7.2` */
  cli: string;
  /** The newest version of the engine's API that it speaks: `1.55` */
  api: string;
  compose: string;
}

/** Beside the bundle. The build of the image asks the programs once: in a run, both together take a tenth of a second. */
const noted = join(import.meta.dirname, 'programs.json');

/** Up to this one, no docker command wants a newer API of an engine than `needed`. */
const lastKnown = 29;
const needed = '1.44';

/**
 * The versions, once the engine is there, may be used and fits them.
 * Refusals: no-socket, socket-denied, engine-version.
 */
export async function programsOf(
  engine: Engine,
  facts: Promise<EngineFacts>,
  file: string = noted,
): Promise<Pick<Programs, 'cli' | 'compose'>> {
  const known = await readPrograms(file);
  if (known !== null && (await fits(engine, await facts, known))) return known;
  const [cli, compose] = await Promise.all([
    engine.check(),
    engine.callOrThrow(['compose', 'version', '--short']),
  ]);
  return { cli, compose: compose.trim() };
}

/** Null where nobody has noted them, as in an image that was built otherwise. */
export async function readPrograms(file: string): Promise<Programs | null> {
  try {
    const { cli, api, compose } = JSON.parse(await readFile(file, 'utf8'));
    return [cli, api, compose].every((each) => /^v?\d/.test(String(each))) ? { cli, api, compose } : null;
  } catch {
    return null;
  }
}

/** Whether the docker command certainly can use the engine; it asks for the same before all else. */
async function fits(engine: Engine, { api }: EngineFacts, known: Programs): Promise<boolean> {
  if (api === null || Number.parseInt(known.cli.replace(/^v/, ''), 10) > lastKnown) return false;
  return isAtLeast(api.newest, needed) && isAtLeast(known.api, api.oldest) && (await pingApi(engine));
}

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
