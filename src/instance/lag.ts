import { parseReference } from '../compose/reference.ts';
import type { EngineSocket } from '../engine/engine-socket.ts';
import { isAhead } from '../release/channel.ts';
import { parseTag } from '../release/tag.ts';
import type { Home } from './home.ts';
import { loginFor } from './launch.ts';
import type { Run } from './schemas.ts';

/** A release that an update went for and did not reach, because the tag that the instance follows lags behind. */
export interface Lag {
  version: string;
  /** What the server's container was created from: `…/svc:latest`. */
  reference: string;
  repository: string;
  /** Those of the image that the tag named then. */
  digests: readonly string[];
}

/** What the last run left unreached; null where it reached what it went for, or did not end well. */
export async function findLag(
  run: Run,
  version: string,
  home: Home,
  engine: EngineSocket,
): Promise<Lag | null> {
  const { outcome, to } = run;
  if ((outcome !== 'updated' && outcome !== 'unchanged') || to === null || !isAhead(to, version)) return null;
  const reference = parseReference(home.imageReference);
  // A release tag says itself what it names.
  if (reference === null || parseTag(reference.tag ?? 'latest').kind === 'release') return null;
  const image = await engine.image(home.imageId);
  return {
    version: to,
    reference: home.imageReference,
    repository: reference.repository,
    digests: (image?.digests ?? []).map((digest) => digest.slice(digest.indexOf('@') + 1)),
  };
}

/** Whether the tag names another image by now. @throws EngineFault where the registry does not say */
export async function hasMoved(lag: Lag, engine: EngineSocket, credentials: string | null): Promise<boolean> {
  const login = await loginFor(lag.repository, credentials);
  return !lag.digests.includes(await engine.remoteDigest(lag.reference, login));
}
