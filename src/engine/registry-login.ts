import { readFile } from 'node:fs/promises';
import { object, parseObject } from './json.ts';

/** What the engine takes for a login, as it comes in `X-Registry-Auth`. */
export type RegistryLogin =
  | { username: string; password: string; serveraddress: string }
  | { identitytoken: string; serveraddress: string };

const dockerHub = 'https://index.docker.io/v1/';

/** The login for an image's registry from a config.json; null if there is none. */
export async function loginFor(repository: string, file: string | null): Promise<RegistryLogin | null> {
  const text = file === null ? '' : await readFile(file, 'utf8').catch(() => '');
  return registryLogin(text, repository);
}

/**
 * The login for an image's registry from the text of a config.json; null if it has none for it, or keeps it in a
 * credential store.
 */
export function registryLogin(configText: string, repository: string): RegistryLogin | null {
  const auths = object(parseObject(configText)?.auths);
  const wanted = hostOf(registryOf(repository));
  const [key, entry] = Object.entries(auths).find(([name]) => hostOf(name) === wanted) ?? [];
  if (key === undefined || typeof entry !== 'object' || entry === null) return null;
  const { auth, username, password, identitytoken } = entry as Record<string, unknown>;
  if (typeof identitytoken === 'string' && identitytoken !== '') return { identitytoken, serveraddress: key };
  if (typeof username === 'string' && typeof password === 'string') {
    return { username, password, serveraddress: key };
  }
  const [, user, secret] =
    /^([^:]+):(.*)$/s.exec(Buffer.from(typeof auth === 'string' ? auth : '', 'base64').toString()) ?? [];
  return user === undefined ? null : { username: user, password: secret ?? '', serveraddress: key };
}

/** The first part of a repository is its registry where it looks like a host. */
function registryOf(repository: string): string {
  const [first = '', ...rest] = repository.split('/');
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return isHost && first !== 'docker.io' ? first : dockerHub;
}

const hostOf = (name: string): string => name.replace(/^https?:\/\//, '').replace(/\/.*$/, '');

/** What a request has to say for the engine to use that login. */
export function loginHeaders(login: RegistryLogin | null): Record<string, string> {
  // In the alphabet for addresses, with its padding, which the engine wants.
  return login === null
    ? {}
    : {
        'X-Registry-Auth': Buffer.from(JSON.stringify(login))
          .toString('base64')
          .replaceAll('+', '-')
          .replaceAll('/', '_'),
      };
}
