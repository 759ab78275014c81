import { readFileSync, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { Failure } from './command.ts';
import { names } from './names.ts';

/** Which svc to speak to. */
export interface Config {
  /** Without a slash at the end. */
  url: string;
  token: string | null;
  /** What to change where the address is wrong: `SVC_URL`, or the file. */
  urlSetting: string;
  /** What to change where the token is. */
  tokenSetting: string;
  /** The file that the token is from, and that is open to others than its owner; null where there is none. */
  openFile: string | null;
}

/**
 * From `SVC_URL` and `SVC_TOKEN`, else from the file that `svc login` leaves. The file's token goes to the file's
 * address alone: it would be another server's.
 * @throws Failure where there is no address, or none that makes sense
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const path = configPath(env);
  const { name, url: urlVariable, token: tokenVariable } = names();
  const given = env[urlVariable]?.trim() ?? '';
  const isWhole = given !== '' && env[tokenVariable];
  const file = isWhole || path === null ? null : readFile(path);
  const fromFile = file?.url ?? '';
  if (given === '' && fromFile === '') {
    const way = path === null ? '.' : `, or log in: ${name} login (${path} has no url)`;
    throw new Failure(2, `It is not known where ${name} is. Set ${urlVariable}${way}`);
  }
  const urlSetting = given === '' ? `url in ${path}` : urlVariable;
  const url = readUrl(given || fromFile, urlSetting);
  const isOfFile = fromFile !== '' && withoutSlash(fromFile) === url;
  const ownToken = env[tokenVariable]?.trim() || null;
  const token = ownToken ?? (isOfFile && file?.token ? file.token : null);
  const tokenSetting = ownToken !== null || !isOfFile ? tokenVariable : `token in ${path}`;
  if (token !== null && !/^[\x21-\x7e]+$/.test(token)) {
    throw new Failure(2, `${tokenSetting} has characters that no token has.`);
  }
  const isFromFile = token !== null && ownToken === null;
  return {
    url,
    token,
    urlSetting,
    tokenSetting,
    openFile: isFromFile && path !== null && isOpen(path) ? path : null,
  };
}

/** Null where nobody knows of a home: a user without an entry in the machine's list, as containers run with. */
function configPath(env: NodeJS.ProcessEnv): string | null {
  const given = env.XDG_CONFIG_HOME ?? '';
  const at = (base: string) => join(base, names().name, 'config.json');
  // The standard has it that a relative path is to be ignored.
  if (isAbsolute(given)) return at(given);
  try {
    return at(join(homeOf(env), '.config'));
  } catch {
    return null;
  }
}

/** Never a file of the working directory, which may be anybody's. */
function homeOf(env: NodeJS.ProcessEnv): string {
  const home = env.HOME || homedir();
  return isAbsolute(home) ? home : userInfo().homedir;
}

function readFile(path: string): { url: string; token: string } | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new Failure(2, `${path} cannot be read (${code}).`);
  }
  try {
    const { url, token } = Object(JSON.parse(text)) as Record<string, unknown>;
    return { url: trimmed(url), token: trimmed(token) };
  } catch {
    throw new Failure(2, `${path} is no JSON. Mend it, or log in again: ${names().name} login`);
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
    throw new Failure(2, `${setting} has to be an address like https://${names().name}.example.org.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new Failure(2, `${setting} must not have a name and password in it: set ${names().token}.`);
  }
  // A mark with nothing behind it is in neither of the two that Node has for it.
  if (/[?#]/.test(url.href)) {
    throw new Failure(2, `${setting} must not have anything behind its path.`);
  }
  return withoutSlash(text);
}

const withoutSlash = (url: string): string => URL.parse(url)?.href.replace(/\/+$/, '') ?? url;
