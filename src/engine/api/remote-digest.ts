import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UpdateError } from '../../progress/update-error.ts';
import type { Engine } from '../cli/engine.ts';
import { refusal } from '../http/fault.ts';
import { object, parseObject } from '../json.ts';
import { loginHeaders, registryLogin } from '../registry-login.ts';
import { askApi } from './api.ts';

/** What a registry says of a tag: its digest, or that it has no such tag. Null where nobody tells. */
export type RemoteDigest = { digest: string } | 'none' | null;

/** A registry is asked by the engine, and may be slow. */
const registryMs = 15_000;

/**
 * The digest that a tag has in its registry now, with the login of the updater's own configuration. Whatever keeps the
 * engine from telling is no reason to end a run. @throws Cancelled, Interrupted
 */
export async function remoteDigest(
  engine: Engine,
  { repository, tag }: { repository: string; tag: string },
): Promise<RemoteDigest> {
  const reference = `${repository}:${tag}`;
  const config = join(engine.address.configDirectory, 'config.json');
  const login = registryLogin(await readFile(config, 'utf8').catch(() => ''), repository);
  try {
    const answer = await askApi(engine, {
      method: 'GET',
      path: `/distribution/${reference}/json`,
      headers: loginHeaders(login),
      deadlineMs: registryMs,
    });
    if (answer.status === 200) return digestOf(answer.body.toString());
    // Another thing than a registry may say 404, too: a proxy before it, or one before the engine.
    return answer.status === 404 && /manifest unknown|not found/i.test(refusal(answer)) ? 'none' : null;
  } catch (error) {
    if (error instanceof UpdateError) return null;
    throw error;
  }
}

function digestOf(text: string): RemoteDigest {
  const { digest } = object(parseObject(text)?.Descriptor);
  return typeof digest === 'string' ? { digest } : null;
}
