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
export interface Lag {
  version: string;
  /** What the server's container was created from: `…/svc:latest`. */
  reference: string;
  repository: string;
  /** Those of the image that the tag named then. */
  digests: readonly string[];
}

/** After the end of a run, in milliseconds. */
const recentMs = 60_000;

/** It was refused for that, or the updater has taken what the tag led to, which may be another release. */
const mayLag = ({ outcome, code }: Run): boolean =>
  outcome === 'updated' || outcome === 'unchanged' || (outcome === 'refused' && code === 'lags');

/** Finds out what runs leave unreached, and forgets it once the tag has moved. */
export class LagWatch {
  readonly #engine: EngineSocket;
  readonly #settings: Settings;
  readonly #home: () => Promise<Home>;
  /** Of the last run that has ended. */
  #left: { of: string; lag: Promise<Lag | null> } | null = null;

  constructor(engine: EngineSocket, settings: Settings, home: () => Promise<Home>) {
    this.#engine = engine;
    this.#settings = settings;
    this.#home = home;
  }

  /** What that run, the last one, left unreached: nobody is offered it before this is known. */
  async after(run: Run | null): Promise<Lag | null> {
    if (!run?.outcome) return null;
    // One that was judged crashed may end anew.
    const of = `${run.id} ${run.outcome}`;
    if (this.#left?.of !== of) this.#left = { of, lag: this.#find(run) };
    return this.#left.lag;
  }

  /** Asks the registry whether the tag has moved, where that matters. */
  async look(run: Run | null): Promise<void> {
    const lag = await this.after(run);
    const left = this.#left;
    if (lag === null || left === null) return;
    try {
      if (await this.#hasMoved(lag)) left.lag = Promise.resolve(null);
    } catch (cause) {
      const message = `cannot tell whether ${lag.reference} has moved`;
      this.#settings.log({ level: 'warn', message, cause });
    }
  }

  async #find(run: Run): Promise<Lag | null> {
    const { to } = run;
    if (!mayLag(run) || to === null || !isAhead(to, this.#settings.version)) return null;
    try {
      const home = await this.#home();
      const { imageReference, imageId } = home;
      const reference = parseReference(imageReference);
      // A release tag tells its version by itself.
      if (reference === null || parseTag(reference.tag ?? 'latest').kind === 'release') return null;
      const { repository } = reference;
      const [image, named, refused] = await Promise.all([
        this.#engine.image(imageId),
        this.#engine.image(imageReference),
        this.#refusedDigest(run, { repository, reference: imageReference }),
      ]);
      // Published again with the same content, a tag has another digest, and the run has replaced nothing.
      const images = [image, runsImage(home, named) ? named : null];
      return {
        version: to,
        reference: imageReference,
        repository,
        digests: [
          ...images
            .flatMap((each) => each?.digests ?? [])
            .map((digest) => digest.slice(digest.indexOf('@') + 1)),
          ...(refused === null ? [] : [refused]),
        ],
      };
    } catch (cause) {
      const message = 'cannot tell what the last update left unreached';
      this.#settings.log({ level: 'warn', message, cause });
      return null;
    }
  }

  /**
   * What the tag led to when a run was refused for it, as the image that was pulled has no tag any more. Null where that
   * was too long ago to tell: the tag may have moved to the release since.
   */
  async #refusedDigest(
    { outcome, endedAt }: Run,
    tag: Pick<Lag, 'repository' | 'reference'>,
  ): Promise<string | null> {
    if (outcome !== 'refused' || Date.now() - Date.parse(endedAt ?? '') > recentMs) return null;
    return this.#remoteDigest(tag).catch(() => null);
  }

  /** @throws EngineFault where the registry does not say */
  async #hasMoved({ digests, ...tag }: Lag): Promise<boolean> {
    return !digests.includes(await this.#remoteDigest(tag));
  }

  async #remoteDigest({ repository, reference }: Pick<Lag, 'repository' | 'reference'>): Promise<string> {
    const login = await loginFor(repository, this.#settings.registryCredentials);
    return this.#engine.remoteDigest(reference, login);
  }
}
