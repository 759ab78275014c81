import { type Channel, type Release, releasesOn } from '../../core/release/channel.ts';
import { FeedError, reasonOf } from '../../feed/feed-error.ts';
import {
  type ChannelCopy,
  type ChannelPlace,
  channelPlaces,
  readChannelCopy,
} from '../../feed/read-channel.ts';
import { BadAsset } from '../../feed/read-proof.ts';
import { type ChannelFile, proveChannel, readChannelFileOf } from '../../provenance/channel-file.ts';
import { Unproven } from '../../provenance/prove-release.ts';
import { signersOf } from '../../provenance/trust.ts';
import type { Settings } from '../contract/options.ts';
import type { Timing } from '../contract/timing.ts';
import { HostFailure } from '../host/ask-host.ts';
import type { Ledger } from '../store/ledger.ts';
import { isFuture } from './proven-releases.ts';

/** In milliseconds, for all copies. A check on request must not take much longer. */
const longestRead = 20_000;

type Copy = ChannelFile & { signer?: string };

/**
 * Reads the publisher's channel file (docs/contract.md 8.40). A signed file is stored, because whoever can replace it with an
 * older one, or withhold it, must not undo a recall.
 */
export class ChannelFiles {
  readonly #context: { settings: Settings; ledger: Ledger; timing: Timing };
  /** The last file that was accepted: without trust, or for the case that the store fails. */
  #last: ChannelFile | null = null;
  #quietUntil = Number.NEGATIVE_INFINITY;

  constructor(context: { settings: Settings; ledger: Ledger; timing: Timing }) {
    this.#context = context;
  }

  /** The file that counts for a channel. Without trust, it cannot hold a release back. */
  async current(channel: Channel): Promise<ChannelFile | null> {
    if (this.#trust) this.#last = await this.#stored(channel).catch(() => this.#last);
    return this.#last?.channel === channel ? this.#last : null;
  }

  /**
   * Returns why no copy was accepted; null if one was, or if there is none. @throws FeedError if the store does not respond,
   * or the reason of the signal
   */
  async read(releases: readonly Release[], channel: Channel, signal: AbortSignal): Promise<string | null> {
    const { feed } = this.#context.settings;
    const copies: Copy[] = [];
    const problems = new Set<string>();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(longestRead)]);
    for (const place of feed ? channelPlaces(feed, releasesOn(channel, releases)) : []) {
      const copy = await this.#readAt(place, limit);
      signal.throwIfAborted();
      if (typeof copy === 'string') problems.add(copy);
      else if (copy?.channel === channel) copies.push(copy);
    }
    const [newest] = copies.toSorted((a, b) => Date.parse(b.issuedAt) - Date.parse(a.issuedAt));
    if (newest && (await this.#isAccepted(newest, problems))) return null;
    // Without trust only what can be read now counts.
    if (!this.#trust && problems.size === 0) this.#last = null;
    return [...problems].join('; ') || null;
  }

  /** Null if there is no file, a message if it is not accepted. */
  async #readAt(place: ChannelPlace, signal: AbortSignal): Promise<Copy | string | null> {
    if (performance.now() < this.#quietUntil) return 'channel.json: the server is rate-limiting requests';
    try {
      const copy = await readChannelCopy(this.#trust ? place : { ...place, bundle: null }, {
        signal,
        deadline: this.#context.timing.proof,
      });
      if (copy === null) return null;
      const file = await this.#verify(copy);
      if (isFuture(file.issuedAt)) throw new Unproven(`it was issued at ${file.issuedAt}, in the future`);
      return file;
    } catch (error) {
      if (error instanceof Unproven || error instanceof BadAsset)
        return `channel.json is not accepted: ${error.message}`;
      if (error instanceof FeedError && error.wait !== null)
        this.#quietUntil = performance.now() + error.wait;
      return `channel.json cannot be downloaded: ${reasonOf(error)}`;
    }
  }

  async #verify({ file, bundle }: ChannelCopy): Promise<Copy> {
    const { name: product } = this.#context.settings.product;
    const trust = this.#trust;
    if (!trust) return readChannelFileOf(file, product);
    if (bundle === null) throw new Unproven('it is not signed');
    return proveChannel(file, new TextDecoder().decode(bundle), trust, { product });
  }

  async #isAccepted({ signer, ...file }: Copy, problems: Set<string>): Promise<boolean> {
    const { ledger } = this.#context;
    try {
      const last = signer === undefined ? null : await this.#stored(file.channel);
      if (last !== null && Date.parse(file.issuedAt) < Date.parse(last.issuedAt)) {
        const dates = `${file.issuedAt}, before the file that was accepted last (${last.issuedAt})`;
        problems.add(`channel.json is not accepted: it was issued at ${dates}`);
        return false;
      }
      if (signer !== undefined) await ledger.setChannelFile(signer, file);
      this.#last = file;
      return true;
    } catch (error) {
      if (!(error instanceof HostFailure)) throw error;
      throw new FeedError('the store did not return the channel file that was accepted last');
    }
  }

  get #trust() {
    return this.#context.settings.feed?.trust ?? null;
  }

  /** The newest stored file of a signer that is still trusted. @throws HostFailure */
  async #stored(channel: Channel): Promise<ChannelFile | null> {
    const files = await this.#context.ledger.channelFiles(channel);
    const signers = this.#trust ? signersOf(this.#trust) : [];
    return signers
      .flatMap((signer) => files[signer] ?? [])
      .filter(({ issuedAt }) => !isFuture(issuedAt))
      .reduce<ChannelFile | null>(
        (a, b) => (a !== null && Date.parse(a.issuedAt) >= Date.parse(b.issuedAt) ? a : b),
        null,
      );
  }
}
