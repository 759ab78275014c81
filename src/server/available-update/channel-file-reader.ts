import { type Channel, listChannelReleases, type Release } from '../../core/release/channel.ts';
import { FeedError, innermostErrorMessageOf } from '../../feed/feed-error.ts';
import {
  type ChannelFileLocation,
  listChannelFileLocations,
  readAssetIfFound,
} from '../../feed/read-channel-file.ts';
import { InvalidAssetError } from '../../feed/read-proof.ts';
import {
  type ChannelFile,
  parseUnverifiedChannelFile,
  verifyChannelFile,
} from '../../provenance/channel-file.ts';
import { signerNamesOf } from '../../provenance/trust.ts';
import { UnverifiedError } from '../../provenance/verify-release.ts';
import { ApplicationError } from '../application/call-application.ts';
import { type FeedContext, isSignedTimeInFuture } from './release-verifier.ts';

/**
 * Time limit in milliseconds for reading all copies of a channel file. The limit is short, because an admin may be
 * waiting.
 */
const longestRead = 20_000;

type ChannelFileCopy = ChannelFile & { signer?: string };

/**
 * Returns the newest file that is not dated in the future. If all files are dated in the future, returns the newest of
 * them.
 */
function selectEffectiveFile(stored: readonly ChannelFile[]): ChannelFile | null {
  const file = newestOf(stored.filter(isPast)) ?? newestOf(stored);
  // The recalls in files with a future date also count, because the local clock may be slow.
  const recalled = stored.flatMap((each) => (each === file || !isPast(each) ? each.recalled : []));
  return file && { ...file, recalled };
}

const isPast = ({ issuedAt }: ChannelFile): boolean => !isSignedTimeInFuture(issuedAt);

const newestOf = <T extends ChannelFile>(files: readonly T[]): T | null =>
  files.toSorted((a, b) => Date.parse(b.issuedAt) - Date.parse(a.issuedAt))[0] ?? null;

/**
 * Reads the publisher's channel file (docs/contract.md 8.40). Signed files are stored, so that an attacker cannot undo
 * a recall by withholding the file or serving an older one.
 */
export class ChannelFileReader {
  readonly #context: FeedContext;
  /** Last accepted file. It is used if `trust` is not set, and while the store does not respond. */
  #last: ChannelFile | null = null;

  constructor(context: FeedContext) {
    this.#context = context;
  }

  /** Returns the file that is in effect for a channel; null if there is none. */
  async current(channel: Channel): Promise<ChannelFile | null> {
    if (this.#trust) this.#last = await this.#stored(channel).then(selectEffectiveFile, () => this.#last);
    return this.#last?.channel === channel ? this.#last : null;
  }

  /** Reads all copies of the channel file. Returns an error message; null if a copy was accepted or no copy exists. */
  async read(releases: readonly Release[], channel: Channel, signal: AbortSignal): Promise<string | null> {
    const { feed } = this.#context.settings;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(longestRead)]);
    const copies: ChannelFileCopy[] = [];
    const problems = new Set<string>();
    for (const location of feed
      ? listChannelFileLocations(feed, listChannelReleases(channel, releases))
      : []) {
      const copy = await this.#readAt(location, limit);
      signal.throwIfAborted();
      if (typeof copy === 'string') problems.add(copy);
      else if (copy?.channel === channel) copies.push(copy);
    }
    const newest = newestOf(copies);
    const refusal = newest && (await this.#accept(newest));
    if (newest && refusal === null) return null;
    if (refusal !== null) problems.add(refusal);
    // Without `trust`, a channel file has no effect after the publisher has deleted it.
    if (!this.#trust && problems.size === 0) this.#last = null;
    return [...problems].join('; ') || null;
  }

  /** Downloads and verifies a copy. Returns null if the copy does not exist, and an error message if a step fails. */
  async #readAt(
    { feed, files: [listed, signature] }: ChannelFileLocation,
    signal: AbortSignal,
  ): Promise<ChannelFileCopy | string | null> {
    const { settings, timing } = this.#context;
    const { name: product } = settings.product;
    const asking = { feed, signal, deadline: timing.proof };
    const trust = this.#trust;
    try {
      const bytes = await readAssetIfFound(listed, asking);
      if (bytes === null) return null;
      const bundle = trust && signature ? await readAssetIfFound(signature, asking) : null;
      if (trust && bundle === null) throw new UnverifiedError('it is not signed');
      const file = trust
        ? await verifyChannelFile(bytes, new TextDecoder().decode(bundle ?? undefined), trust, { product })
        : parseUnverifiedChannelFile(bytes, product);
      if (isSignedTimeInFuture(file.issuedAt))
        throw new UnverifiedError(`its issue date ${file.issuedAt} is in the future`);
      return file;
    } catch (error) {
      return error instanceof UnverifiedError || error instanceof InvalidAssetError
        ? notAccepted(error.message)
        : `channel.json cannot be downloaded: ${innermostErrorMessageOf(error)}`;
    }
  }

  /** Rejects a copy that is older than the last accepted file. Returns the reason; null if the copy is accepted. */
  async #accept({ signer, ...file }: ChannelFileCopy): Promise<string | null> {
    try {
      const stored = signer === undefined ? [] : await this.#stored(file.channel);
      const last = newestOf(stored.filter(isPast));
      if (last !== null && Date.parse(file.issuedAt) < Date.parse(last.issuedAt))
        return notAccepted(
          `it was issued at ${file.issuedAt}, but a newer file, issued at ${last.issuedAt}, has already been accepted`,
        );
      if (signer !== undefined) await this.#context.ledger.setChannelFile(signer, file);
      this.#last = file;
      return null;
    } catch (error) {
      if (!(error instanceof ApplicationError)) throw error;
      throw new FeedError('the store did not return the channel file that was accepted last');
    }
  }

  get #trust() {
    return this.#context.settings.feed?.trust ?? null;
  }

  /** Reads the stored files of signers that are still trusted. */
  async #stored(channel: Channel): Promise<ChannelFile[]> {
    const files = await this.#context.ledger.readBySigner('channel-files', channel);
    const signers = this.#trust ? signerNamesOf(this.#trust) : [];
    return signers.flatMap((signer) => files[signer] ?? []);
  }
}

const notAccepted = (why: string): string => `channel.json was rejected: ${why}`;
