import type { EngineSocket } from '../../engine/socket.ts';
import { createFeed, type Feed } from '../../feed/feed.ts';
import type { Channel } from '../../release/channel.ts';
import { leftBehind } from '../../wire/left-behind.ts';
import type { BuildServer, FeedProblem, NextRelease, Run } from '../../wire/status.ts';
import type { Settings } from '../contract/options.ts';
import type { Timing } from '../contract/timing.ts';
import { askHost, HostFailure } from '../host/ask-host.ts';
import type { SurroundingsCache } from '../place/surroundings.ts';
import type { Ledger } from '../store/ledger.ts';
import { readBuildServers } from './build-servers.ts';
import { LagWatch } from './lag.ts';
import { type OfferFacts, offer, toldOffer } from './offer.ts';
import { refusedStepOf } from './stepping.ts';

interface BookTools {
  settings: Settings;
  timing: Timing;
  ledger: Ledger;
  engine: EngineSocket;
  place: SurroundingsCache;
  lastRun(): Promise<Run | null>;
  /** There is something else to update to than before. */
  onOffer(next: NextRelease): void;
}

/** What there is to update to, and all that this depends on. */
export class OfferBook {
  readonly #tools: BookTools;
  readonly #lag: LagWatch;
  readonly #feed: Feed | null;
  /** That was seen last. */
  #channel: Channel = 'stable';
  #offered: string | null = null;

  constructor(tools: BookTools) {
    const { engine, settings, place } = tools;
    this.#tools = tools;
    this.#lag = new LagWatch(engine, settings, () => place.findHome());
    this.#feed =
      settings.feed &&
      createFeed(settings.feed, settings.log, {
        channel: () => this.#channel,
        onCheck: () => void this.#afterCheck().catch(() => {}),
      });
  }

  /** From the first look at the store on. */
  async start(): Promise<void> {
    await this.facts(null).catch(() => {});
    this.#feed?.start();
  }

  close(): void {
    this.#feed?.close();
  }

  async check(): Promise<void> {
    await this.#feed?.check();
    await this.#lag.look(await this.#tools.lastRun());
  }

  /** Why the releases could not be read the last time. */
  get failure(): FeedProblem | null {
    return this.#feed?.failure ?? null;
  }

  /** @throws HostFailure where the store does not take it */
  async setChannel(channel: Channel): Promise<void> {
    await this.#tools.ledger.setChannel(channel);
    this.#channel = channel;
    this.#feed?.lookFor(channel);
  }

  /** By the last run, which whoever asks has read already. */
  async facts(run: Run | null): Promise<OfferFacts> {
    const { ledger, settings } = this.#tools;
    // Where the store does not answer, the status says so in another place.
    this.#channel = await ledger.channel().catch(() => this.#channel);
    return {
      version: settings.version,
      channel: this.#channel,
      releases: this.#feed?.releases ?? null,
      checkedAt: this.#feed?.checkedAt ?? null,
      lag: await this.#lag.after(run),
      step: run && refusedStepOf(run),
      again: run?.outcome === 'broken' || run?.outcome === 'crashed' ? run.to : null,
    };
  }

  /** None where the host does not tell. */
  async buildServers(version: string): Promise<BuildServer[]> {
    const { settings, timing } = this.#tools;
    try {
      const answer = await askHost('buildServers', () => settings.buildServers(), timing.host);
      return readBuildServers(answer, version, this.#tools.settings.product);
    } catch (cause) {
      if (!(cause instanceof HostFailure)) throw cause;
      settings.log({ level: 'warn', message: 'the build servers cannot be told', cause });
      return [];
    }
  }

  /** What an update has not reached, as warnings of its end. */
  async leftBehind({ outcome, to }: Run): Promise<string[]> {
    if (outcome !== 'updated') return [];
    const servers = await this.buildServers(to ?? this.#tools.settings.version);
    return servers.filter(({ behind }) => behind).map(leftBehind);
  }

  async #afterCheck(): Promise<void> {
    const { lastRun, onOffer, settings } = this.#tools;
    const run = await lastRun();
    await this.#lag.look(run);
    const { next } = toldOffer(offer(await this.facts(run)), settings.version);
    if (next !== null && next.version !== this.#offered) onOffer(next);
    this.#offered = next?.version ?? null;
  }
}
