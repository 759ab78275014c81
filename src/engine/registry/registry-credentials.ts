import { readLimitedFile } from '../../core/files/read-limited-file.ts';
import { parseJsonOrNull, toObject } from '../objects/json.ts';

/** Credentials for a registry, in the format of the header `X-Registry-Auth`. */
export type RegistryCredentials =
  | { username: string; password: string; serveraddress: string }
  | { identitytoken: string; serveraddress: string };

const dockerHub = 'https://index.docker.io/v1/';

/** Reads the credentials for an image's registry from a config.json; null if it contains none. */
export async function readRegistryCredentials(
  repository: string,
  file: string | null,
): Promise<RegistryCredentials | null> {
  const text = file === null ? '' : String(await readLimitedFile(file).catch(() => ''));
  return parseRegistryCredentials(text, repository);
}

/**
 * Returns the credentials for an image's registry from a config.json. Returns null if there are none, or if a
 * credential store keeps them.
 */
export function parseRegistryCredentials(configText: string, repository: string): RegistryCredentials | null {
  const auths = toObject(parseJsonOrNull(configText)?.auths);
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

/** Returns a repository's registry: its first part if that looks like a host name, otherwise Docker Hub. */
function registryOf(repository: string): string {
  const [first = '', ...rest] = repository.split('/');
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return isHost && first !== 'docker.io' ? first : dockerHub;
}

const hostOf = (name: string): string => name.replace(/^https?:\/\//, '').replace(/\/.*$/, '');

export function toCredentialHeaders(login: RegistryCredentials | null): Record<string, string> {
  // The engine requires base64url with padding.
  return login === null
    ? {}
    : {
        'X-Registry-Auth': Buffer.from(JSON.stringify(login))
          .toString('base64')
          .replaceAll('+', '-')
          .replaceAll('/', '_'),
      };
}
