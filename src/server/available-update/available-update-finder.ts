import type { Channel, Release } from '../../core/release/channel.ts';
import type { EngineApi } from '../../engine/engine-api.ts';
import { composeLabels } from '../../engine/objects/labels.ts';
import { createFeed, type Feed, type InstallableReleases } from '../../feed/create-feed.ts';
import { findRecall } from '../../provenance/channel-file.ts';
import type { ReleaseFile } from '../../provenance/release-file.ts';
import type { AddedReleaseSetting, Run, Skipped, Status } from '../../wire/status.ts';
import type { UpdateEventListeners } from '../application/listeners.ts';
import type { CompleteUpdateRequest } from '../contract/instance-updates.ts';
import type { DeploymentCache } from '../deployment/deployment-cache.ts';
import {
  type ChannelFileEffects,
  evaluateChannelFile,
  excludeVersions,
  noChannelFileEffects,
} from './channel-file-effects.ts';
import { ChannelFileReader } from './channel-file-reader.ts';
import {
  type AvailableUpdateFacts,
  chooseAvailableUpdate,
  resolveInstallableTarget,
  resolveRequestedTarget,
  type UpdateTargetResult,
} from './choose-update.ts';
import { type FeedContext, ReleaseVerifier } from './release-verifier.ts';
import { StaleTagWatch } from './stale-tag-watch.ts';

interface UpdateFinderContext extends FeedContext {
  engine: EngineApi;
  place: DeploymentCache;
  listeners: UpdateEventListeners;
  closing: AbortSignal;
}

/**
 * Determines the available update from the feed, the channel and the last run. If the last run missed its target
 * version because of a stale tag, that version is not offered until the tag has been moved.
 */
export class AvailableUpdateFinder {
  readonly #context: UpdateFinderContext;
  readonly #lastRun: () => Promise<Run | null>;
  readonly #lag: StaleTagWatch;
  readonly #feed: Feed | null;
  /** Null if signatures are not required. */
  readonly #proven: ReleaseVerifier | null;
  readonly #files: ChannelFileReader;
  /** All releases in the feed, including releases that are not offered. */
  #published: readonly Release[] = [];
  /** Channel that was last read from the store or written to it. */
  #channel: Channel = 'stable';
  #skipped: Skipped | null = null;
  /**
   * Version available at the previous check. The `offer` event is emitted only if a different version is available now.
   */
  #announced: string | null = null;

  constructor(context: UpdateFinderContext, lastRun: () => Promise<Run | null>) {
    const { engine, settings, place: location } = context;
    this.#context = context;
    this.#lastRun = lastRun;
    this.#lag = new StaleTagWatch(engine, settings, () => location.findDeployment());
    const { trust } = settings.feed ?? {};
    const proven = trust ? new ReleaseVerifier(context, trust) : null;
    this.#proven = proven;
    this.#files = new ChannelFileReader(context);
    this.#feed =
      settings.feed &&
      createFeed(settings.feed, settings.log, {
        channel: () => this.#channel,
        judge: (releases, signal) => this.#judge(releases, signal),
        onCheck: () => void this.#afterCheck().catch(() => {}),
      });
  }

  /** Starts reading the feed for the channel in the store. */
  async start(): Promise<void> {
    await this.now(null).catch(() => {});
    this.#feed?.start();
  }

  close(): void {
    this.#feed?.close();
  }

  /** Reads the feed for an admin, and also offers a release that has not been rolled out to this instance yet. */
  async check(): Promise<void> {
    await this.#feed?.check();
    const run = await this.#lastRun();
    await this.#lag.recheck(run);
    const { held } = await this.readPublisherNotice();
    // Ignore errors from the store, because the admin can check again.
    if (held && !held.isAsked) await this.#context.ledger.readStagedRollout(held.version).catch(() => {});
  }

  /** If the channel file cannot be read, the last one stays in effect. */
  async readChannelFile(): Promise<void> {
    await this.#files.read(this.#published, this.#channel, this.#context.closing).catch(() => {});
  }

  /** @throws ApplicationError if the store fails */
  async setChannel(channel: Channel): Promise<void> {
    await this.#context.ledger.edit('channel', () => channel);
    this.#channel = channel;
    this.#feed?.checkForChannel(channel);
  }

  /**
   * Skips the version; null undoes the skip. Returns false if the version is not the newest release.
   * @throws ApplicationError if the store fails
   */
  async skip(version: string | null): Promise<boolean> {
    const { offer } = await this.now();
    if (version !== null && version !== offer.latest?.version) return false;
    const since = new Date().toISOString();
    await this.#context.ledger.edit('skip', (now) =>
      version === null ? null : now?.version === version ? now : { version, since },
    );
    return true;
  }

  /** Returns the target of a requested update, or the reason why it cannot be installed. */
  async resolveDestination(order: CompleteUpdateRequest): Promise<UpdateTargetResult> {
    const { known } = await this.now();
    return resolveInstallableTarget(resolveRequestedTarget(order, known), known);
  }

  /**
   * Returns the new settings of a verified release, and which of them are already set. If the engine does not respond,
   * no setting counts as set.
   */
  async settings(proof: ReleaseFile | string | undefined): Promise<AddedReleaseSetting[]> {
    const listed = (typeof proof === 'object' && proof.settings) || [];
    const values = listed.length > 0 ? await this.#appVariables().catch(() => null) : null;
    return listed.map(({ default: usual = null, generate, ...setting }) => ({
      ...setting,
      default: usual,
      generated: generate !== undefined,
      isSet: !!values?.get(setting.name),
    }));
  }

  async #appVariables() {
    const { engine, place: location, settings } = this.#context;
    const { project, service } = await location.findDeployment();
    const which = { project, service: settings.app ?? service, oneOff: 'False' };
    const label = Object.entries(which).map(([key, value]) => `${composeLabels[key as 'oneOff']}=${value}`);
    const [app] = await engine.listContainers({ label, status: ['running'] });
    return app && (await engine.inspectContainer(app.id))?.env;
  }

  /**
   * Returns the current facts and the available update. `offer` includes the status fields about the feed and the
   * channel file.
   * @param last - the last run, if the caller has read it
   */
  async now(last?: Run | null) {
    const { ledger, settings } = this.#context;
    const run = last === undefined ? await this.#lastRun() : last;
    // If the store does not respond, use the last known channel. Another field of the status reports the error.
    const channel = (await ledger.read('channel').catch(() => this.#channel)) ?? 'stable';
    const isNew = channel !== this.#channel;
    this.#channel = channel;
    // If another server has changed the channel, verify the new channel's releases and read its channel file.
    if (isNew) this.#feed?.checkForChannel(channel);
    this.#skipped = await ledger.read('skip').catch(() => this.#skipped);
    const word = await this.readPublisherNotice();
    const published = this.#feed?.releases ?? null;
    const withHeld = published && excludeVersions(published, word.recalled);
    const held = word.held?.isAsked === false ? word.held : null;
    const known: AvailableUpdateFacts = {
      version: settings.version,
      channel: this.#channel,
      releases: withHeld && excludeVersions(withHeld, held ? [held] : []),
      checkedAt: this.#feed?.checkedAt ?? null,
      staleTag: await this.#lag.after(run),
      lastRun: run,
      skipped: this.#skipped,
      proofs: this.#proven?.proofs ?? null,
      notice: word,
      releasesWithHeld: held && withHeld,
    };
    const offer = { ...chooseAvailableUpdate(known), ...this.#wordFields(word) };
    if (offer.next === null) return { known, offer };
    const listed = await this.settings(known.proofs?.get(offer.next.version));
    return { known, offer: { ...offer, next: { ...offer.next, settings: listed } } };
  }

  /** Returns the effects of the publisher's channel file on this instance. Never rejects. */
  async readPublisherNotice(): Promise<ChannelFileEffects> {
    const { ledger, settings } = this.#context;
    const file = await this.#files.current(this.#channel);
    if (file === null) return noChannelFileEffects;
    const rollout = file.rollout ? await ledger.readStagedRollout().catch(() => null) : null;
    const isSigned = this.#proven !== null;
    return evaluateChannelFile(file, { version: settings.version, rollout, isSigned, now: Date.now() });
  }

  #wordFields({
    recalled,
    urgent,
    staleSince,
  }: ChannelFileEffects): Pick<Status, 'feedError' | 'recalled' | 'urgent'> {
    const recall = findRecall({ recalled }, this.#context.settings.version);
    const { failure = null, nextCheckAt = '' } = this.#feed ?? {};
    const stale = `channel.json expired at ${staleSince}`;
    const message = [failure?.message ?? [], stale].flat().join('; ');
    return {
      feedError: staleSince === null ? failure : { message, nextCheckAt, staleSince },
      recalled: recall && { ...recall, url: recall.url ?? null },
      urgent,
    };
  }

  async #judge(releases: readonly Release[], signal: AbortSignal): Promise<InstallableReleases> {
    this.#published = releases;
    const judged = await this.#proven?.judge(releases, this.#channel, signal);
    const problem = await this.#files.read(releases, this.#channel, signal);
    return {
      releases: judged?.releases ?? releases,
      problem: [judged?.problem ?? [], problem ?? []].flat().join('; ') || null,
    };
  }

  async #afterCheck(): Promise<void> {
    const run = await this.#lastRun();
    await this.#lag.recheck(run);
    const { next, updateAvailable } = (await this.now(run)).offer;
    const isNews = next !== null && next.version !== this.#announced && updateAvailable;
    if (isNews) this.#context.listeners.emit('offer', next);
    this.#announced = next?.version ?? null;
  }
}
