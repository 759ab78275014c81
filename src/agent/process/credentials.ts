import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Log } from '../log/log.ts';

/**
 * Makes a configuration of the updater's own from the mounted config.json: its logins, its proxies (compose hands them
 * to services) and those credential helpers that exist here. A helper that is missing, or a context that is unknown,
 * would break even the pull of a public image. Gives the directory for `docker --config`.
 */
export async function prepareConfig(
  directory: string,
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): Promise<string> {
  const source = join(env.DOCKER_CONFIG || join(homedir(), '.docker'), 'config.json');
  const text = await readFile(source, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT')
      log.warn(`${source} cannot be read (${error.code}): pulling without credentials`);
    return null;
  });
  const config: Record<string, unknown> = {};
  if (text !== null) {
    const extra = credentialSecrets(text);
    log.learn(() => ({ extra }));
    await adopt(text, source, config, log);
  }
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(join(directory, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  return directory;
}

async function adopt(text: string, source: string, config: Record<string, unknown>, log: Log): Promise<void> {
  let given: Record<string, unknown>;
  try {
    given = Object(JSON.parse(text));
  } catch {
    log.warn(`${source} is not JSON: pulling without credentials`);
    return;
  }
  if (given.auths) config.auths = given.auths;
  if (given.proxies) config.proxies = given.proxies;
  if (typeof given.credsStore === 'string' && given.credsStore !== '') {
    if (await helperExists(given.credsStore)) config.credsStore = given.credsStore;
    else
      log.warn(
        `the credential store "${given.credsStore}" of config.json does not exist here: its logins are not used`,
      );
  }
  if (typeof given.currentContext === 'string' && !['', 'default'].includes(given.currentContext)) {
    log.warn(
      `the context "${given.currentContext}" of config.json is not used: the engine is that of the mounted socket`,
    );
  }
  const helpers: Record<string, string> = {};
  for (const [registry, helper] of Object.entries(Object(given.credHelpers) as Record<string, string>)) {
    if (await helperExists(helper)) helpers[registry] = helper;
    else
      log.warn(
        `the credential helper "${helper}" of config.json does not exist here: no login for ${registry}`,
      );
  }
  if (Object.keys(helpers).length > 0) config.credHelpers = helpers;
}

async function helperExists(name: string): Promise<boolean> {
  const directories = (process.env.PATH ?? '').split(delimiter);
  const found = await Promise.all(
    directories.map((directory) =>
      access(join(directory, `docker-credential-${name}`)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

/** Passwords of a config.json, which must never reach a log. */
function credentialSecrets(text: string): string[] {
  try {
    const auths = Object.values(Object(JSON.parse(text)).auths ?? {}).map(Object) as Record<
      string,
      unknown
    >[];
    return auths.flatMap(({ auth, password, identitytoken }) => [
      ...(typeof auth === 'string'
        ? [
            auth,
            Buffer.from(auth, 'base64')
              .toString()
              .replace(/^[^:]*:/, ''),
          ]
        : []),
      ...[password, identitytoken].filter((value): value is string => typeof value === 'string'),
    ]);
  } catch {
    return [];
  }
}
