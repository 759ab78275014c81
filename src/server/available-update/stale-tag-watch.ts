import { parseImageReference } from '../../core/compose/pins/image-reference.ts';
import { isNewerVersion } from '../../core/release/channel.ts';
import { parseSemverTag } from '../../core/release/tag.ts';
import { isContainerOfImage } from '../../engine/comparison/same-image.ts';
import type { EngineApi } from '../../engine/engine-api.ts';
import { readRegistryCredentials } from '../../engine/registry/registry-credentials.ts';
import type { Run } from '../../wire/status.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import type { Deployment } from '../deployment/read-deployment.ts';

/** Version that an update did not install, because the instance's tag did not point to this version yet. */
interface StaleTag {
  version: string;
  /** Image reference of the server's container, for example `…/svc:latest`. */
  reference: string;
  repository: string;
  /** Digests of the image to which the tag pointed at the end of the run. */
  digests: readonly string[];
}

/** Time after a run, in milliseconds, during which the instance's tag is assumed to be unchanged. */
const recentMs = 60_000;

/** Because of a stale tag, a run may be refused or may install a different release. */
const mayHaveMissedTarget = ({ outcome, code }: Run): boolean =>
  outcome === 'updated' || outcome === 'unchanged' || (outcome === 'refused' && code === 'tag-lags');

/** Finds out whether a stale tag affected the last run, and whether the tag has been moved since then. */
export class StaleTagWatch {
  readonly #engine: EngineApi;
  readonly #settings: ValidatedInstanceOptions;
  readonly #home: () => Promise<Deployment>;
  /** Stale tag of the last finished run. */
  #left: { of: string; lag: Promise<StaleTag | null> } | null = null;

  constructor(engine: EngineApi, settings: ValidatedInstanceOptions, deployment: () => Promise<Deployment>) {
    this.#engine = engine;
    this.#settings = settings;
    this.#home = deployment;
  }

  /**
   * Returns the last run's stale tag; null if the tag was not stale. No update is offered until the result is known.
   */
  async after(run: Run | null): Promise<StaleTag | null> {
    if (!run?.outcome) return null;
    // The key includes the outcome, because a run that appears to have crashed may get another outcome later.
    const of = `${run.id} ${run.outcome}`;
    if (this.#left?.of !== of) this.#left = { of, lag: this.#find(run) };
    return this.#left.lag;
  }

  /** Checks in the registry whether a stale tag has been moved. */
  async recheck(run: Run | null): Promise<void> {
    const staleTag = await this.after(run);
    const left = this.#left;
    if (staleTag === null || left === null) return;
    try {
      if (!staleTag.digests.includes(await this.#remoteDigest(staleTag))) left.lag = Promise.resolve(null);
    } catch (cause) {
      const message = `cannot check in the registry which image ${staleTag.reference} points to`;
      this.#settings.log({ level: 'warn', message, cause });
    }
  }

  async #find(run: Run): Promise<StaleTag | null> {
    const { to, outcome, endedAt } = run;
    if (!mayHaveMissedTarget(run) || to === null || !isNewerVersion(to, this.#settings.version)) return null;
    try {
      const { container } = await this.#home();
      const { imageReference: reference, imageId } = container;
      const { repository, tag } = parseImageReference(reference) ?? {};
      // A release tag is never stale.
      if (repository === undefined || parseSemverTag(tag ?? 'latest').kind === 'release') return null;
      // A refused run leaves its image untagged, so read the digest from the registry. Do this only soon after the run,
      // because the tag may be moved later.
      const isRecent = outcome === 'refused' && Date.now() - Date.parse(endedAt ?? '') <= recentMs;
      const [image, named, refused] = await Promise.all([
        this.#engine.inspectImage(imageId),
        this.#engine.inspectImage(reference),
        isRecent ? this.#remoteDigest({ repository, reference }).catch(() => null) : null,
      ]);
      // Include the digests of the tag's local image. If a release is republished unchanged, its digest changes, but
      // the run replaces no container.
      const images = [image, isContainerOfImage(container, named) ? named : null];
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

  /** Returns the digest to which the tag points now. @throws EngineError if the registry does not respond */
  async #remoteDigest({
    repository,
    reference,
  }: Pick<StaleTag, 'repository' | 'reference'>): Promise<string> {
    const login = await readRegistryCredentials(repository, this.#settings.registryCredentials);
    return (await this.#engine.inspectRemoteImage(reference, login)).digest;
  }
}
