import { readFile } from 'node:fs/promises';
import { type RegistryLogin, registryLogin } from '../../engine/registry-login.ts';

/** The login for an image's registry; null where the server has none. */
export async function loginFor(
  repository: string,
  credentials: string | null,
): Promise<RegistryLogin | null> {
  const text = credentials === null ? null : await readFile(credentials, 'utf8').catch(() => null);
  return text === null ? null : registryLogin(text, repository);
}
