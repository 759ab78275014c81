import { basename, join } from 'node:path';
import { sumOfFile } from '../../provenance/file-sum.ts';
import { headOfArchive, openArchive } from '../../provenance/release-archive.ts';
import type { ReleaseFile } from '../../provenance/release-file.ts';
import { isGoodEnd } from '../../wire/codes.ts';
import type { Archive, Reason, Run } from '../../wire/status.ts';
import type { ArchiveSettings } from '../contract/options.ts';
import type { Destination, OfferFacts } from '../offer/offer.ts';
import type { ServerContext } from '../run/server-context.ts';
import { type Announced, ArchiveFiles, type KeptArchive } from './archive-files.ts';
import { ArchiveRefused, isFull, noRoom } from './archive-refused.ts';
import { judgeHead, judgeImages } from './judge-archive.ts';

type ArchiveContext = Pick<ServerContext, 'settings' | 'timing' | 'place'>;

/** What is asked of the other parts of the server. */
interface Asked {
  facts(): Promise<OfferFacts>;
  platform(): Promise<string | null>;
  /** Why no update may start here, whatever jobs there are. */
  reason(): Promise<Reason | null>;
}

/**
 * The one archive of a release that somebody hands over in pieces (docs/contract.md 8.40). What is here is read from the
 * directory each time: another server of the instance may share it.
 */
export class Archives {
  readonly #context: ArchiveContext;
  readonly #options: ArchiveSettings;
  readonly #files: ArchiveFiles;
  readonly #asked: Asked;
  /** What the archive of that sum has proven to this server. */
  #proven: { sha256: string; release: ReleaseFile } | null = null;
  /** One request at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(context: ArchiveContext, options: ArchiveSettings, asked: Asked) {
    this.#context = context;
    this.#options = options;
    this.#files = new ArchiveFiles(options.directory);
    this.#asked = asked;
  }

  /** What is here of it, of which the rest may be sent. */
  begin(announced: Announced): Promise<{ archive: Archive } | { reason: Reason }> {
    return this.#exclusive(async () => {
      const elsewhere = await this.#asked.reason();
      if (elsewhere) return { reason: elsewhere };
      this.#directoryOnHost();
      const kept = await this.#files.kept();
      if (kept?.sha256 === announced.sha256 && kept.size === announced.size) {
        await this.#files.expectRoom(kept.size - kept.received);
        return { archive: await this.#settle(kept) };
      }
      if (kept !== null && Date.now() - kept.changedAt < this.#context.timing.archive) throw taken(kept);
      return { archive: await this.#settle(await this.#files.begin(announced)) };
    });
  }

  /**
   * Takes the next piece. At another offset than that of what is here nothing is taken: the answer says where to go on. Null
   * where nothing of that archive is here. What the body throws is thrown, once what came before it is on the disk.
   */
  receive(
    { sha256, offset }: { sha256: string; offset: number },
    body: AsyncIterable<Uint8Array>,
  ): Promise<{ archive: Archive } | { reason: Reason } | null> {
    return this.#exclusive(async () => {
      const kept = await this.#files.kept();
      if (kept?.sha256 !== sha256) return null;
      // What an update may be on from is not judged anew: it runs by now, and would be refused.
      if (kept.isWhole || kept.received !== offset) return { archive: this.#told(kept) };
      const longer = await this.#files.append(kept, body).catch(async (error) => {
        // A full disk is not left so.
        if (error instanceof ArchiveRefused) await this.#files.removeAll();
        throw error;
      });
      return { archive: await this.#settle(longer) };
    });
  }

  /** Gives why it cannot be, else null. */
  async remove(): Promise<{ reason: Reason } | null> {
    return this.#exclusive(async () => {
      const elsewhere = await this.#asked.reason();
      // An updater that is started again reads it again.
      if (elsewhere?.code === 'update-running') return { reason: elsewhere };
      await this.#files.removeAll();
      return null;
    });
  }

  /** Where an update from the archive of that sum goes. */
  destination(sha256: string): Promise<Destination | { reason: Reason }> {
    return this.#exclusive(async () => {
      const kept = await this.#files.kept();
      const isHere = kept?.sha256 === sha256 && kept.isWhole;
      if (isHere) await this.#settle(kept);
      const proof = this.#proven?.release;
      if (!isHere || !proof)
        throw new ArchiveRefused(
          'archive-refused',
          'that archive is not here, or not all of it',
          'Send it again.',
        );
      const archive = join(this.#directoryOnHost(), basename(kept.path));
      return { target: proof.version, to: proof.version, proof, archive };
    });
  }

  /** After a good end nobody needs what was here before it; after another one it is there for the next try. */
  async tidy({ kind, outcome, endedAt }: Run): Promise<void> {
    if (kind !== 'update' || !isGoodEnd(outcome)) return;
    await this.#exclusive(async () => {
      const kept = await this.#files.kept();
      if (kept?.isWhole && kept.changedAt < Date.parse(endedAt ?? '')) await this.#files.removeAll();
      return null;
    });
  }

  /** Holds what is here against what can be told by now. @throws ArchiveRefused where it is not taken, and not here any more */
  async #settle(kept: KeptArchive): Promise<Archive> {
    try {
      const release = await this.#prove(kept);
      const isNext = release !== null && !kept.isWhole && kept.received === kept.size;
      return this.#told(isNext ? await this.#finish(kept) : kept);
    } catch (error) {
      if (error instanceof ArchiveRefused) await this.#files.removeAll();
      throw error;
    }
  }

  #told({ sha256, size, received, isWhole }: KeptArchive): Archive {
    const version = this.#proven?.sha256 === sha256 ? this.#proven.release.version : null;
    return { version, size, received, ready: isWhole };
  }

  /** Null while the first bytes, which prove it, are not all here. */
  async #prove(kept: KeptArchive): Promise<ReleaseFile | null> {
    const { sha256, path, received, size } = kept;
    if (this.#proven?.sha256 === sha256) return this.#proven.release;
    const head = await headOfArchive(path).catch(noArchive);
    if (head === null && received === size) return noArchive(new Error('it was cut off'));
    if (head === null) return null;
    const [known, platform] = await Promise.all([this.#asked.facts(), this.#asked.platform()]);
    const product = this.#context.settings.product.name;
    const release = await judgeHead(head, { trust: this.#options.trust, product, platform, known });
    this.#proven = { sha256, release };
    return release;
  }

  async #finish(kept: KeptArchive): Promise<KeptArchive> {
    if ((await sumOfFile(kept.path)) !== kept.sha256)
      throw new ArchiveRefused(
        'archive-refused',
        'what came is not what was announced: a byte was changed on the way, or the file while it was sent',
        'Send it again.',
      );
    // What was proven of that sum before its bytes were all here may have been another archive's.
    this.#proven = null;
    const release = await this.#prove(kept);
    const archive = await openArchive(kept.path).catch(noArchive);
    await archive.close();
    if (release !== null) judgeImages(archive, release, await this.#asked.platform());
    return this.#files.complete(kept);
  }

  /** @throws ArchiveRefused where no updater could be given what is in it */
  #directoryOnHost(): string {
    const { archives = null } = this.#context.place.home ?? {};
    if (archives !== null) return archives;
    const message = `the directory for archives, ${this.#options.directory}, is on no mount of the server's container`;
    throw new ArchiveRefused('no-archives', message);
  }

  async #exclusive<T>(work: () => Promise<T>): Promise<T | { reason: Reason }> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done.catch((error: unknown) => ({ reason: this.#reasonOf(error) }));
  }

  /** @throws what is none of the archive's, nor of its directory's */
  #reasonOf(error: unknown): Reason {
    if (error instanceof ArchiveRefused) return error.reason;
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    const { directory } = this.#options;
    if (isFull(error)) return noRoom(directory, 1, null).reason;
    return {
      code: 'no-archives',
      message: `the directory for archives, ${directory}, cannot be used: ${error.message}`,
    };
  }
}

const noArchive = (error: Error): never => {
  if ('syscall' in error) throw error;
  throw new ArchiveRefused('archive-refused', `it is no archive of a release: ${error.message}`);
};

const taken = ({ received, size }: KeptArchive): ArchiveRefused =>
  new ArchiveRefused(
    'archive-refused',
    `another archive is being sent, of which ${Math.floor((100 * received) / size)} % are here`,
    'A minute after its last piece this one may take its place.',
  );
