import { readFileSync, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { CommandFailedError } from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';

/** Address and token of the server, and the files or variables that set them. */
export interface ClientConfig {
  /** Address of the server, without a trailing slash. */
  url: string;
  token: string | null;
  /** Where the address was set, as messages name it: `SVC_URL` or `url in FILE`. */
  urlSetting: string;
  /** Place where the token was set, as named in messages. Without a token, the place where the user can set one. */
  tokenSetting: string;
  /**
   * Path of the configuration file if the token is from this file and other users can access the file; otherwise null.
   */
  insecureFile: string | null;
}

/**
 * Reads the server address and the token from the environment, or from the file that the login command writes. A token
 * from the file is sent only to the address in the file.
 * @throws CommandFailedError if the address is missing, or if a setting is invalid
 */
export function readClientConfig(env: NodeJS.ProcessEnv): ClientConfig {
  const path = configPath(env);
  const { name, url: urlVariable, token: tokenVariable } = getProductNames();
  const given = env[urlVariable]?.trim() ?? '';
  const isWhole = given !== '' && env[tokenVariable];
  const file = isWhole || path === null ? null : readFile(path);
  const fromFile = file?.url ?? '';
  if (given === '' && fromFile === '') {
    throw new CommandFailedError(
      2,
      path === null
        ? `The address of ${name} is not set. Set ${urlVariable}.`
        : `The address of ${name} is not set. Set ${urlVariable}, or log in: ${name} login (${path} does not contain an address)`,
    );
  }
  const urlSetting = given === '' ? `url in ${path}` : urlVariable;
  const url = readUrl(given || fromFile, urlSetting);
  const isOfFile = fromFile !== '' && withoutSlash(fromFile) === url;
  const ownToken = env[tokenVariable]?.trim() || null;
  const token = ownToken ?? (isOfFile && file?.token ? file.token : null);
  const tokenSetting = ownToken !== null || !isOfFile ? tokenVariable : `token in ${path}`;
  if (token !== null && !/^[\x21-\x7e]+$/.test(token)) {
    throw new CommandFailedError(2, `${tokenSetting} contains characters that are not allowed in a token.`);
  }
  const isFromFile = token !== null && ownToken === null;
  return {
    url,
    token,
    urlSetting,
    tokenSetting,
    insecureFile: isFromFile && path !== null && isOpen(path) ? path : null,
  };
}

/** Returns null if the user has no home directory, for example in a container with an arbitrary uid. */
function configPath(env: NodeJS.ProcessEnv): string | null {
  const given = env.XDG_CONFIG_HOME ?? '';
  const at = (base: string) => join(base, getProductNames().name, 'config.json');
  // A relative path in XDG_CONFIG_HOME is ignored, as the XDG specification requires.
  if (isAbsolute(given)) return at(given);
  try {
    return at(join(homeOf(env), '.config'));
  } catch {
    return null;
  }
}

/** Ignores a relative HOME. It would refer to the working directory, which may belong to another user. */
function homeOf(env: NodeJS.ProcessEnv): string {
  const deployment = env.HOME || homedir();
  return isAbsolute(deployment) ? deployment : userInfo().homedir;
}

function readFile(path: string): { url: string; token: string } | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new CommandFailedError(2, `Cannot read ${path} (${code}).`);
  }
  try {
    const { url, token } = Object(JSON.parse(text)) as Record<string, unknown>;
    return { url: trimmed(url), token: trimmed(token) };
  } catch {
    throw new CommandFailedError(
      2,
      `${path} is not valid JSON. Fix it, or log in again: ${getProductNames().name} login`,
    );
  }
}

const trimmed = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

function isOpen(path: string): boolean {
  const { mode = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  return (mode & 0o077) !== 0;
}

function readUrl(text: string, setting: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CommandFailedError(
      2,
      `${setting} must be an address like https://${getProductNames().name}.example.org.`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new CommandFailedError(
      2,
      `${setting} must not contain a user name or password. Set ${getProductNames().token} instead.`,
    );
  }
  // Test the whole address, because `url.search` and `url.hash` are empty if nothing follows `?` or `#`.
  if (/[?#]/.test(url.href)) {
    throw new CommandFailedError(2, `${setting} must not contain a query (?) or a fragment (#).`);
  }
  return withoutSlash(text);
}

const withoutSlash = (url: string): string => URL.parse(url)?.href.replace(/\/+$/, '') ?? url;
