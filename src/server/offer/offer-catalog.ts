import type { Channel } from '../../core/release/channel.ts';
import type { EngineSocket } from '../../engine/socket.ts';
import { createFeed, type Feed } from '../../feed/feed.ts';
import type { FeedProblem, Run, Skipped } from '../../wire/status.ts';
import type { Settings } from '../contract/options.ts';
import type { Timing } from '../contract/timing.ts';
import type { Listeners } from '../host/listeners.ts';
import type { SurroundingsCache } from '../place/surroundings.ts';
import type { Ledger } from '../store/ledger.ts';
import { LagWatch } from './lag.ts';
import { type OfferFacts, offer, offerFields } from './offer.ts';
import { ProvenReleases } from './proven-releases.ts';
import { refusedStepOf } from './stepping.ts';

interface CatalogContext {
  settings: Settings;
  timing: Timing;
  ledger: Ledger;
  engine: EngineSocket;
  place: SurroundingsCache;
  listeners: Listeners;
}

/** All that an offer is made from, kept up to date: the feed, the channel, and what earlier runs left unreached. */
export class OfferCatalog {
  readonly #context: CatalogContext;
  readonly #lastRun: () => Promise<Run | null>;
  readonly #lag: LagWatch;
  readonly #feed: Feed | null;
  /** Null where nobody asks for proof. */
  readonly #proven: ProvenReleases | null;
  /** The channel that the store had last. */
  #channel: Channel = 'stable';
  #offered: string | null = null;
  #skipped: Skipped | null = null;

  constructor(context: CatalogContext, lastRun: () => Promise<Run | null>) {
    const { engine, settings, place } = context;
    this.#context = context;
    this.#lastRun = lastRun;
    this.#lag = new LagWatch(engine, settings, () => place.findHome());
    const { trust } = settings.feed ?? {};
    const proven = trust ? new ProvenReleases(context, trust) : null;
    this.#proven = proven;
    this.#feed =
      settings.feed &&
      createFeed(settings.feed, settings.log, {
        channel: () => this.#channel,
        judge: proven ? (releases, signal) => proven.judge(releases, this.#channel, signal) : undefined,
        onCheck: () => void this.#afterCheck().catch(() => {}),
      });
  }

  /** Reads the feed from here on, by the channel of the store. */
  async start(): Promise<void> {
    await this.facts(null).catch(() => {});
    this.#feed?.start();
  }

  close(): void {
    this.#feed?.close();
  }

  async check(): Promise<void> {
    await this.#feed?.check();
    await this.#lag.recheck(await this.#lastRun());
  }

  /** Why the releases could not be read the last time. */
  get failure(): FeedProblem | null {
    return this.#feed?.failure ?? null;
  }

  /** @throws HostFailure where the store does not take it */
  async setChannel(channel: Channel): Promise<void> {
    await this.#context.ledger.setChannel(channel);
    this.#channel = channel;
    this.#feed?.lookFor(channel);
  }

  /** Gives whether it is the newest release, which alone can be skipped. @throws HostFailure where the store does not take it */
  async skip(version: string | null, run: Run | null): Promise<boolean> {
    const known = await this.facts(run);
    if (version !== null && version !== offer(known).latest?.version) return false;
    await this.#context.ledger.setSkipped(version);
    return true;
  }

  /** By the last run, which whoever asks has read already. */
  async facts(run: Run | null): Promise<OfferFacts> {
    const { ledger, settings } = this.#context;
    // Where the store does not answer, the status says so in another place.
    const channel = await ledger.channel().catch(() => this.#channel);
    const isNew = channel !== this.#channel;
    this.#channel = channel;
    // Another server has set it, and none of its releases was asked for proof.
    if (isNew && this.#proven) this.#feed?.lookFor(channel);
    this.#skipped = await ledger.skipped().catch(() => this.#skipped);
    return {
      version: settings.version,
      channel: this.#channel,
      releases: this.#feed?.releases ?? null,
      checkedAt: this.#feed?.checkedAt ?? null,
      lag: await this.#lag.after(run),
      step: run && refusedStepOf(run),
      skipped: this.#skipped,
      again: isUnclear(run) ? run.to : null,
      proofs: this.#proven?.proofs ?? null,
    };
  }

  async #afterCheck(): Promise<void> {
    const run = await this.#lastRun();
    await this.#lag.recheck(run);
    const known = await this.facts(run);
    const { next, updateAvailable } = offerFields(offer(known), known);
    const isNews = next !== null && next.version !== this.#offered && updateAvailable;
    if (isNews) this.#context.listeners.emit('offer', next);
    this.#offered = next?.version ?? null;
  }
}

/** The running version is unknown. After a rollback an older version runs, which no update installs. */
const isUnclear = (run: Run | null): run is Run =>
  run?.kind === 'update' && (run.outcome === 'broken' || run.outcome === 'crashed');
