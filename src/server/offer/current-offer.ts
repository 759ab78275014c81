import type { Channel } from '../../core/release/channel.ts';
import type { EngineSocket } from '../../engine/socket.ts';
import { createFeed, type Feed } from '../../feed/feed.ts';
import type { FeedProblem, Reason, Run, Skipped } from '../../wire/status.ts';
import type { StartOrder } from '../contract/instance-updates.ts';
import type { Settings } from '../contract/options.ts';
import type { Timing } from '../contract/timing.ts';
import type { Listeners } from '../host/listeners.ts';
import type { SurroundingsCache } from '../place/surroundings.ts';
import type { Ledger } from '../store/ledger.ts';
import { LagWatch } from './lag.ts';
import {
  type Destination,
  destinationOf,
  firstStepTo,
  type Offer,
  type OfferFacts,
  offer,
  offerFields,
  verifiedDestination,
} from './offer.ts';
import { ProvenReleases } from './proven-releases.ts';

interface OfferContext {
  settings: Settings;
  timing: Timing;
  ledger: Ledger;
  engine: EngineSocket;
  place: SurroundingsCache;
  listeners: Listeners;
}

/** The offer at one moment, its facts and its fields in the status. */
interface OfferNow {
  known: OfferFacts;
  offered: Offer;
  fields: ReturnType<typeof offerFields>;
}

/** The current offer, made from the feed, the channel, and the releases that earlier runs did not reach. */
export class CurrentOffer {
  readonly #context: OfferContext;
  readonly #lastRun: () => Promise<Run | null>;
  readonly #lag: LagWatch;
  readonly #feed: Feed | null;
  /** Null if signatures are not required. */
  readonly #proven: ProvenReleases | null;
  /** The last channel in the store. */
  #channel: Channel = 'stable';
  #skipped: Skipped | null = null;
  /** The version of which listeners were told last. */
  #announced: string | null = null;

  constructor(context: OfferContext, lastRun: () => Promise<Run | null>) {
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

  /** Starts reading the feed, by the channel in the store. */
  async start(): Promise<void> {
    await this.now(null).catch(() => {});
    this.#feed?.start();
  }

  close(): void {
    this.#feed?.close();
  }

  /** Reads the feed now. */
  async check(): Promise<void> {
    await this.#feed?.check();
    await this.#lag.recheck(await this.#lastRun());
  }

  /** Why the releases could not be read the last time. */
  get failure(): FeedProblem | null {
    return this.#feed?.failure ?? null;
  }

  /** @throws HostFailure if the store fails */
  async setChannel(channel: Channel): Promise<void> {
    await this.#context.ledger.setChannel(channel);
    this.#channel = channel;
    this.#feed?.lookFor(channel);
  }

  /** Returns whether it is the newest release, because only that can be skipped. @throws HostFailure if the store fails */
  async skip(version: string | null): Promise<boolean> {
    const { offered } = await this.now();
    if (version !== null && version !== offered.latest?.version) return false;
    await this.#context.ledger.setSkipped(version);
    return true;
  }

  /** The target of an order, or why it is refused. */
  async destination({
    target,
    allSteps = false,
  }: Pick<StartOrder, 'target' | 'allSteps'>): Promise<Destination | { reason: Reason }> {
    const { known } = await this.now();
    return verifiedDestination((allSteps ? firstStepTo : destinationOf)(target, known), known);
  }

  /** @param last the last run, if the caller has read it already */
  async now(last?: Run | null): Promise<OfferNow> {
    const { ledger, settings } = this.#context;
    const run = last === undefined ? await this.#lastRun() : last;
    // If the store does not respond, the status reports it elsewhere.
    const channel = await ledger.channel().catch(() => this.#channel);
    const isNew = channel !== this.#channel;
    this.#channel = channel;
    // Another server has set it, and the signatures of its releases have not been checked.
    if (isNew && this.#proven) this.#feed?.lookFor(channel);
    this.#skipped = await ledger.skipped().catch(() => this.#skipped);
    const known = {
      version: settings.version,
      channel: this.#channel,
      releases: this.#feed?.releases ?? null,
      checkedAt: this.#feed?.checkedAt ?? null,
      lag: await this.#lag.after(run),
      lastRun: run,
      skipped: this.#skipped,
      proofs: this.#proven?.proofs ?? null,
    };
    const offered = offer(known);
    return { known, offered, fields: offerFields(offered, known) };
  }

  async #afterCheck(): Promise<void> {
    const run = await this.#lastRun();
    await this.#lag.recheck(run);
    const { next, updateAvailable } = (await this.now(run)).fields;
    const isNews = next !== null && next.version !== this.#announced && updateAvailable;
    if (isNews) this.#context.listeners.emit('offer', next);
    this.#announced = next?.version ?? null;
  }
}
