import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Product } from '../../../core/names/product.ts';
import { createJsonTextSchema } from '../../../core/text/json-text.ts';
import type { EngineVersionInfo } from '../../../engine/api-objects.ts';
import { createComposeError } from '../../../engine/cli/create-compose-error.ts';
import { Engine } from '../../../engine/cli/engine.ts';
import { lastLineOf } from '../../../engine/cli/run-command.ts';
import { isVersionAtLeast } from '../../../engine/http/api-version.ts';
import { parseJsonOrNull } from '../../../engine/objects/json.ts';
import { parseEngineAddress } from './engine-address.ts';

/** Version of this build, set by the bundler. */
export const updaterVersion: string = process.env.SVC_UPDATER_BUILD_VERSION ?? 'dev';

const versionText = z.string().check(z.regex(/^v?\d/));
const programsSchema = z.object({
  /** Such as `29.7.2`. */
  cli: versionText,
  /** Newest engine API version that the docker CLI supports, such as `1.55`. */
  api: versionText,
  compose: versionText,
});
type Programs = z.infer<typeof programsSchema>;

/** The image build writes the versions to this file, because running both programs in each run would take 0.1 s. */
const versionsFilePath = join(import.meta.dirname, 'programs.json');

/** Newest major version of the docker CLI that is known to work with engine API `requiredApiVersion`. */
const newestKnownMajor = 29;
const requiredApiVersion = '1.44';

/**
 * Checks that the docker CLI and compose can use the engine, and returns their versions.
 * @throws UpdateError engine-version, no-compose
 */
export async function requireCompatiblePrograms(
  engine: Engine,
  facts: Promise<EngineVersionInfo>,
  file: string = versionsFilePath,
): Promise<Pick<Programs, 'cli' | 'compose'>> {
  const found = await facts;
  const known = await readProgramVersions(file);
  if (known !== null && (await canUseEngine(engine, found, known))) return known;
  const { exitCode, stdout, stderr } = await engine.call(['version', '--format', '{{.Client.Version}}']);
  if (exitCode !== 0) {
    const message = `the docker CLI of this image cannot use the engine: ${lastLineOf(stderr)}`;
    // If HEAD /_ping fails, the docker CLI uses its own API version, which may be too new for the engine.
    const advice = 'Update the engine. If a proxy is in front of the engine, allow HEAD /_ping.';
    throw new UpdateError('engine-version', message, { advice });
  }
  const compose = await engine.call(['compose', 'version', '--short']);
  if (compose.exitCode !== 0) throw createComposeError(compose);
  return { cli: stdout.trim(), compose: compose.stdout.trim() };
}

/** Null if the file is missing or invalid. */
export async function readProgramVersions(file: string): Promise<Programs | null> {
  const text = await readFile(file, 'utf8').catch(() => null);
  return createJsonTextSchema(programsSchema).safeParse(text).data ?? null;
}

/** True if it is certain that the docker CLI works with the engine. The CLI then need not be run as a test. */
async function canUseEngine(engine: Engine, { api }: EngineVersionInfo, known: Programs): Promise<boolean> {
  if (api === null || Number.parseInt(known.cli.replace(/^v/, ''), 10) > newestKnownMajor) return false;
  return (
    isVersionAtLeast(api.newest, requiredApiVersion) &&
    isVersionAtLeast(known.api, api.oldest) &&
    (await engine.canPing())
  );
}

/** Time limit in ms for the query of each version. An engine that is shutting down may never respond. */
const deadlineMs = 4_000;

/** The output of `--version`: the updater, the programs in its image, and the engine if it responds. */
export async function formatVersionLine(
  { name }: Product,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const configDirectory = join(homedir(), '.docker');
  const engine = new Engine({ ...parseEngineAddress(env), configDirectory }, { home: homedir() });
  const commandVersion = async (args: readonly string[]) =>
    (await engine.call(args, { deadlineMs })).stdout.trim().split('\n', 1)[0] ?? '';
  const engineVersion = () =>
    engine
      .request('getVersion', { deadlineMs })
      .then(({ body }) => String(parseJsonOrNull(body.toString())?.Version));
  const parts = await Promise.all([
    commandVersion(['version', '--format', '{{.Client.Version}}']),
    commandVersion(['compose', 'version', '--short']),
    engineVersion().catch(() => ''),
  ]);
  // The version of a missing program, or of an engine that does not respond, is empty.
  const found = ['docker CLI', 'compose', 'engine'].flatMap((part, at) =>
    /^v?\d/.test(parts[at] ?? '') ? [`${part} ${parts[at]}`] : [],
  );
  return `${name}-updater ${[updaterVersion, ...found].join(', ')}\n`;
}
