import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { isExistingPath } from '../../../core/files/file-system.ts';
import { readLimitedFile } from '../../../core/files/read-limited-file.ts';
import type { Log } from '../log/run-log.ts';

/**
 * Copies the credentials and proxies of the mounted config.json to a directory for `docker --config`. Leaves out the
 * docker context, and each credential helper that this image lacks. Either would break even the pull of a public image.
 */
export async function writeDockerConfig(
  directory: string,
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): Promise<string> {
  const source = join(env.DOCKER_CONFIG || join(homedir(), '.docker'), 'config.json');
  const bytes = await readLimitedFile(source).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT')
      log.warn(`${source} cannot be read (${error.code}), so images are pulled without credentials`);
    return null;
  });
  const given = bytes === null ? {} : parseDockerConfig(bytes.toString(), source, log);
  // Passwords are masked before any message about the contents of config.json is logged.
  log.addMaskRules(() => ({ hidden: passwordsOf(given) }));
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const config = JSON.stringify(await selectUsableConfig(given, log));
  await writeFile(join(directory, 'config.json'), config, { mode: 0o600 });
  return directory;
}

function parseDockerConfig(text: string, source: string, log: Log): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    log.warn(`${source} is not valid JSON, so images are pulled without credentials`);
    return {};
  }
}

async function selectUsableConfig(
  given: Record<string, unknown>,
  log: Log,
): Promise<Record<string, unknown>> {
  const { auths, proxies, credsStore, currentContext, credHelpers } = given;
  const config: Record<string, unknown> = { ...(auths ? { auths } : {}), ...(proxies ? { proxies } : {}) };
  if (typeof credsStore === 'string' && credsStore !== '') {
    if (await helperExists(credsStore)) config.credsStore = credsStore;
    else
      log.warn(
        `the credential store "${credsStore}" in config.json does not exist in this container, so its credentials are not used`,
      );
  }
  if (typeof currentContext === 'string' && !['', 'default'].includes(currentContext)) {
    log.warn(
      `the context "${currentContext}" in config.json is ignored, because the mounted socket selects the engine`,
    );
  }
  const helpers: Record<string, string> = {};
  for (const [registry, helper] of Object.entries(Object(credHelpers) as Record<string, string>)) {
    if (await helperExists(helper)) helpers[registry] = helper;
    else
      log.warn(
        `the credential helper "${helper}" in config.json does not exist in this container, so there are no credentials for ${registry}`,
      );
  }
  if (Object.keys(helpers).length > 0) config.credHelpers = helpers;
  return config;
}

async function helperExists(name: string): Promise<boolean> {
  const directories = (process.env.PATH ?? '').split(delimiter);
  const found = directories.map((directory) => isExistingPath(join(directory, `docker-credential-${name}`)));
  return (await Promise.all(found)).includes(true);
}

/** Secret values of config.json, which must never be logged. */
function passwordsOf({ auths }: Record<string, unknown>): string[] {
  return Object.values(Object(auths)).flatMap((login) => {
    const { auth, password, identitytoken } = Object(login) as Record<string, unknown>;
    const decoded = typeof auth === 'string' ? Buffer.from(auth, 'base64').toString() : null;
    return [auth, decoded?.replace(/^[^:]*:/, ''), password, identitytoken].filter(
      (value) => typeof value === 'string',
    );
  });
}
