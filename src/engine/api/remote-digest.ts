import { join } from 'node:path';
import { UpdateError } from '../../core/progress/update-error.ts';
import type { Engine } from '../cli/engine.ts';
import { refusal } from '../http/fault.ts';
import { type Json, list, object, parseObject } from '../json.ts';
import { loginFor, loginHeaders, type RegistryLogin } from '../registry-login.ts';
import { askApi } from './api.ts';

/** What a registry says of a tag: its digest, or that it has no such tag. Null if it is not known. */
export type RemoteDigest = { digest: string } | 'none' | null;

/** A registry is asked by the engine, and may be slow. */
const registryMs = 15_000;

/**
 * The digest that a tag, or a digest, has in its registry now, with the login of the updater's own configuration. Whatever keeps the
 * engine from telling is no reason to end a run. @throws Cancelled, Interrupted
 */
export async function remoteDigest(
  engine: Engine,
  { repository, tag }: { repository: string; tag: string },
): Promise<RemoteDigest> {
  try {
    const reference = `${repository}${tag.includes(':') ? '@' : ':'}${tag}`;
    const told = await remoteImage(engine, reference, await ownLogin(engine, repository));
    if ('digest' in told) return { digest: told.digest };
    // Another thing than a registry may say 404, too: a proxy before it, or one before the engine.
    return told.status === 404 && /manifest unknown|not found/i.test(told.said) ? 'none' : null;
  } catch (error) {
    if (error instanceof UpdateError) return null;
    throw error;
  }
}

/** What a registry says of an image. */
export interface RemoteImage {
  digest: string;
  /** As a service of a Swarm is told them; none if the registry does not say. */
  platforms: readonly Json[];
}

/**
 * The image that a tag leads to in its registry; else the registry's own words, and the status of the answer.
 * @throws UpdateError engine-unavailable, Cancelled
 */
export async function remoteImage(
  engine: Engine,
  reference: string,
  login: RegistryLogin | null,
): Promise<RemoteImage | { status: number; said: string }> {
  const path = `/distribution/${reference}/json`;
  const headers = loginHeaders(login);
  const answer = await askApi(engine, { method: 'GET', path, headers, deadlineMs: registryMs });
  const body = parseObject(answer.body.toString());
  const { digest } = object(body?.Descriptor);
  if (answer.status !== 200 || typeof digest !== 'string')
    return { status: answer.status, said: refusal(answer) };
  // As `docker stack deploy` writes them: of arm, each node finds the one that it can run.
  const platforms = list<Json>(body?.Platforms).flatMap(({ architecture, os }) =>
    os === 'unknown' ? [] : [{ Architecture: architecture === 'arm' ? '' : architecture, OS: os }],
  );
  return { digest, platforms };
}

/** The login that the updater's own configuration has for the registry of an image. */
export const ownLogin = (engine: Engine, repository: string): Promise<RegistryLogin | null> =>
  loginFor(repository, join(engine.address.configDirectory, 'config.json'));
