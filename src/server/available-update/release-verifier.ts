import {
  type Channel,
  channelOf,
  channels,
  isNewerVersion,
  listChannelReleases,
  type Release,
} from '../../core/release/channel.ts';
import type { InstallableReleases } from '../../feed/create-feed.ts';
import { FeedError, innermostErrorMessageOf } from '../../feed/feed-error.ts';
import {
  type AssetRequestOptions,
  InvalidAssetError,
  readProofFiles,
  requireProofAssets,
} from '../../feed/read-proof.ts';
import { signerNamesOf, type Trust } from '../../provenance/trust.ts';
import { UnverifiedError, type VerifiedRelease, verifyRelease } from '../../provenance/verify-release.ts';
import { ApplicationError } from '../application/call-application.ts';
import type { ServerTiming } from '../contract/timing.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import type { StateStore } from '../store/state-store.ts';

/** Maximum number of verified releases per channel. Older releases are not needed as intermediate releases. */
const maxVerifiedReleases = 20;
/** Time limit in milliseconds for all requests of one check together. */
const longestCheck = 60_000;
/** Maximum difference between the clocks of the publisher and this server, in milliseconds. */
const mostClockError = 24 * 3_600_000;

/** Verified content of a release, or why the release is not verified. */
export type ReleaseVerification = VerifiedRelease | string;

export interface FeedContext {
  settings: ValidatedInstanceOptions;
  ledger: StateStore;
  timing: ServerTiming;
}

/** Verifies the releases of a feed for which the option `trust` is set (docs/contract.md 8.39). */
export class ReleaseVerifier {
  readonly #context: FeedContext;
  readonly #trust: Trust;
  /** Results of the previous check, keyed by version and file URLs. */
  #known = new Map<string, ReleaseVerification>();
  #quietUntil = Number.NEGATIVE_INFINITY;
  #proofs = new Map<string, ReleaseVerification>();

  constructor(context: FeedContext, trust: Trust) {
    this.#context = context;
    this.#trust = trust;
  }

  /** Results of the last check, keyed by version. */
  get proofs(): ReadonlyMap<string, ReleaseVerification> {
    return this.#proofs;
  }

  /**
   * Removes unverified releases that are newer than the running version, and returns a message about them. Older
   * releases need no verification, because no update installs them.
   */
  async judge(
    releases: readonly Release[],
    channel: Channel,
    signal: AbortSignal,
  ): Promise<InstallableReleases> {
    const { version } = this.#context.settings;
    const isOlder = (release: Release) => isNewerVersion(version, release.version);
    // Stable releases are verified whatever the channel, because required intermediate releases are always stable.
    const requested = channels
      .filter((one) => one === 'stable' || one === channel)
      .map((one) =>
        listChannelReleases(one, releases)
          .filter((release) => !isOlder(release))
          .slice(0, maxVerifiedReleases),
      );
    const proofs = await this.#prove(requested.flat(), signal);
    for (const [release, proof] of proofs)
      if (typeof proof === 'object' && isSignedTimeInFuture(proof.publishedAt))
        proofs.set(release, `the publication date ${proof.publishedAt} is in the future`);
    for (const line of requested) await this.#refuseOld(line, proofs);
    this.#proofs = proofs;
    const isUnproven = (release: Release) =>
      !isOlder(release) && release.version !== version && typeof proofs.get(release.version) !== 'object';
    return {
      releases: releases.flatMap((release) => {
        const proof = proofs.get(release.version);
        return typeof proof === 'object'
          ? applySignedFields(release, proof)
          : isUnproven(release)
            ? []
            : release;
      }),
      problem: describeUnverifiedReleases(requested.flat().filter(isUnproven), proofs),
    };
  }

  async #prove(releases: readonly Release[], signal: AbortSignal): Promise<Map<string, ReleaseVerification>> {
    const { settings, timing } = this.#context;
    const known = new Map<string, ReleaseVerification>();
    const proofs = new Map<string, ReleaseVerification>();
    const asking: AssetRequestOptions = {
      feed: settings.feed ?? { url: '' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(longestCheck)]),
      deadline: timing.proof,
    };
    for (const release of releases) {
      const { proof, key } = await this.#proofOf(release, asking);
      signal.throwIfAborted();
      proofs.set(release.version, proof);
      if (key !== null) known.set(key, proof);
    }
    this.#known = known;
    return proofs;
  }

  /** Verifies a release. If `key` is null, the result is not cached, so the next check tries again. */
  async #proofOf(
    release: Release,
    asking: AssetRequestOptions,
  ): Promise<{ proof: ReleaseVerification; key: string | null }> {
    const { name: product } = this.#context.settings.product;
    let key: string | null = null;
    try {
      key = [release.version, ...requireProofAssets(release).map(({ url }) => url)].join(' ');
      const known = this.#known.get(key);
      if (known !== undefined) return { proof: known, key };
      if (performance.now() < this.#quietUntil)
        return { proof: 'the release feed server is rate-limiting requests', key: null };
      const [file, bundle] = await readProofFiles(release, asking);
      const proof = await verifyRelease(
        file ?? new Uint8Array(),
        new TextDecoder().decode(bundle),
        this.#trust,
        {
          product,
          version: release.version,
        },
      );
      // Without expected digests, the updater would accept any image.
      if (Object.keys(proof.images).length === 0) throw new UnverifiedError('release.json lists no images');
      return { proof, key };
    } catch (error) {
      if (error instanceof UnverifiedError || error instanceof InvalidAssetError)
        return { proof: error.message, key };
      if (error instanceof FeedError && error.wait !== null)
        this.#quietUntil = performance.now() + error.wait;
      return { proof: `the signature cannot be downloaded: ${innermostErrorMessageOf(error)}`, key: null };
    }
  }

  /**
   * Rejects releases that were published before the last offered release, because an attacker may present an old
   * release as new.
   */
  async #refuseOld(line: readonly Release[], proofs: Map<string, ReleaseVerification>): Promise<void> {
    const { ledger, settings } = this.#context;
    const channel = channelOf(line[0]?.version ?? '');
    if (channel === null) return;
    try {
      const times = await ledger.readBySigner('offered', channel);
      const last = signerNamesOf(this.#trust)
        .flatMap((signer) => times[signer] ?? [])
        .reduce<string | null>((a, b) => (a !== null && Date.parse(a) >= Date.parse(b) ? a : b), null);
      for (const { version } of line) {
        const proof = proofs.get(version);
        if (typeof proof !== 'object' || version === settings.version) continue;
        // Stop here, because older releases may be required intermediate releases.
        if (last === null || Date.parse(proof.publishedAt) >= Date.parse(last))
          return await ledger.setLastOffered(channel, proof);
        proofs.set(
          version,
          `the release was published at ${proof.publishedAt}, but a release published at ${last} has already been offered`,
        );
      }
    } catch (error) {
      if (!(error instanceof ApplicationError)) throw error;
      throw new FeedError('the store did not return the release that was offered last');
    }
  }
}

/** Tolerates a difference of up to `mostClockError` between the clocks of the publisher and this server. */
export const isSignedTimeInFuture = (time: string): boolean => Date.parse(time) > Date.now() + mostClockError;

/** Replaces `requires` and `publishedAt` from the feed with the signed values. */
function applySignedFields(
  { requires: _, ...release }: Release,
  { requires, publishedAt }: VerifiedRelease,
): Release {
  return { ...release, publishedAt, ...(requires && channelOf(requires) !== null && { requires }) };
}

/** Returns null if all releases are verified. */
function describeUnverifiedReleases(
  unproven: readonly Release[],
  proofs: ReadonlyMap<string, ReleaseVerification>,
): string | null {
  const named = unproven.map(({ version }) => `${version} is not verified: ${proofs.get(version)}`);
  return named.join('; ') || null;
}
