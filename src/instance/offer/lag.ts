import { parseReference } from '../../compose/reference.ts';
import { runsImage } from '../../engine/same-image.ts';
import type { EngineSocket } from '../../engine/socket.ts';
import { isAhead } from '../../release/channel.ts';
import { parseTag } from '../../release/tag.ts';
import type { Run } from '../../wire/status.ts';
import type { Settings } from '../contract/options.ts';
import type { Home } from '../place/home.ts';
import { loginFor } from '../place/registry-login.ts';

/** A release that an update went for and did not reach, because the tag that the instance follows lags behind. */
interface Lag {
  version: string;
  /** What the server's container was created from: `…/svc:latest`. */
  reference: string;
  repository: string;
  /** Of the image that the tag named then. */
  digests: readonly string[];
}

/** After the end of a run, in milliseconds. */
const recentMs = 60_000;

/** The run was refused for a lag, or the updater has taken what the tag led to, which may be another release. */
const mayLag = ({ outcome, code }: Run): boolean =>
  outcome === 'updated' || outcome === 'unchanged' || (outcome === 'refused' && code === 'tag-lags');

/** Finds out what the last run left unreached, and forgets it once the tag has moved. */
export class LagWatch {
  readonly #engine: EngineSocket;
  readonly #settings: Settings;
  readonly #home: () => Promise<Home>;
  /** What the last run that has ended left unreached. */
  #left: { of: string; lag: Promise<Lag | null> } | null = null;

  constructor(engine: EngineSocket, settings: Settings, home: () => Promise<Home>) {
    this.#engine = engine;
    this.#settings = settings;
    this.#home = home;
  }

  /** What that run, the last one, left unreached. Nothing is offered before this is known. */
  async after(run: Run | null): Promise<Lag | null> {
    if (!run?.outcome) return null;
    // A run that was judged crashed may end anew.
    const of = `${run.id} ${run.outcome}`;
    if (this.#left?.of !== of) this.#left = { of, lag: this.#find(run) };
    return this.#left.lag;
  }

  /** Asks the registry whether the tag has moved, where that matters. */
  async recheck(run: Run | null): Promise<void> {
    const lag = await this.after(run);
    const left = this.#left;
    if (lag === null || left === null) return;
    try {
      if (!lag.digests.includes(await this.#remoteDigest(lag))) left.lag = Promise.resolve(null);
    } catch (cause) {
      const message = `cannot check where ${lag.reference} points to`;
      this.#settings.log({ level: 'warn', message, cause });
    }
  }

  async #find(run: Run): Promise<Lag | null> {
    const { to, outcome, endedAt } = run;
    if (!mayLag(run) || to === null || !isAhead(to, this.#settings.version)) return null;
    try {
      const home = await this.#home();
      const { imageReference: reference, imageId } = home;
      const { repository, tag } = parseReference(reference) ?? {};
      // A release tag tells its version by itself.
      if (repository === undefined || parseTag(tag ?? 'latest').kind === 'release') return null;
      // Of a refused run, the image that was pulled has no tag any more: the registry says what the tag led to, if the
      // refusal is not so long ago that the tag may have moved to the release since.
      const isRecent = outcome === 'refused' && Date.now() - Date.parse(endedAt ?? '') <= recentMs;
      const [image, named, refused] = await Promise.all([
        this.#engine.image(imageId),
        this.#engine.image(reference),
        isRecent ? this.#remoteDigest({ repository, reference }).catch(() => null) : null,
      ]);
      // Published again with the same content, a tag has another digest, and the run has replaced nothing.
      const images = [image, runsImage(home, named) ? named : null];
      const digests = images
        .flatMap((each) => each?.digests ?? [])
        .map((digest) => digest.slice(digest.indexOf('@') + 1));
      return { version: to, reference, repository, digests: refused ? [...digests, refused] : digests };
    } catch (cause) {
      const message = 'cannot check whether the last update reached its target version';
      this.#settings.log({ level: 'warn', message, cause });
      return null;
    }
  }

  /** What the tag leads to by now. @throws EngineFault where the registry does not say */
  async #remoteDigest({ repository, reference }: Pick<Lag, 'repository' | 'reference'>): Promise<string> {
    const login = await loginFor(repository, this.#settings.registryCredentials);
    return this.#engine.remoteDigest(reference, login);
  }
}
