import { stat } from 'node:fs/promises';
import { disk } from '../../files/file-system.ts';
import { type Channel, isAhead, type Release } from '../../release/channel.ts';
import { type Context, Failure, stoppedCode } from '../command.ts';
import { programLimits } from './download.ts';
import { failed, refused } from './failure.ts';
import { fetchProgram } from './fetch-program.ts';
import { takeLock } from './lock.ts';
import { strangeness } from './machine.ts';
import { cleanUp, findPlace, identityAt, type Place } from './place.ts';
import { programVersion } from './program-version.ts';
import { assetOf, feedOf, newestRelease, sumOf } from './published.ts';
import { Cancelled, settle } from './settle.ts';
import type { Subject } from './subject.ts';
import { dropOld, keepOld, putInPlace } from './swap.ts';
import { TransferLine } from './transfer-line.ts';

/**
 * Replaces a program of one file by the newest release of a channel, or leaves it as it is (docs/contract.md 9). At every moment the old file
 * or the new one is in its place, whole.
 * @throws Failure, UsageError
 */
export async function updateProgram(subject: Subject, channel: Channel, context: Context): Promise<void> {
  try {
    await updateFile(subject, channel, context);
  } catch (error) {
    throw error instanceof Cancelled ? new Failure(stoppedCode, error.message) : error;
  }
}

async function updateFile(subject: Subject, channel: Channel, context: Context): Promise<void> {
  const feed = feedOf(context.env);
  const place = await findPlace(subject.file);
  const lock = await takeLock(place.file);
  try {
    const { isUnsettled } = lock.isHeld ? await cleanUp(place) : { isUnsettled: false };
    await new Update(subject, place, context).run({ feed, channel, isUnsettled });
  } catch (error) {
    if (context.signal.aborted && error === context.signal.reason)
      throw new Cancelled(`Nothing was changed at ${place.file}`);
    throw error;
  } finally {
    await disk.remove(place.temporary).catch(() => {});
    await lock.release();
  }
}

/** What an update goes by. */
interface Facts {
  feed: string;
  channel: Channel;
  /** An earlier one was killed before its command had ended. */
  isUnsettled: boolean;
}

/** One update of one file. */
class Update {
  readonly #subject: Subject;
  readonly #place: Place;
  readonly #context: Context;

  constructor(subject: Subject, place: Place, context: Context) {
    this.#subject = subject;
    this.#place = place;
    this.#context = context;
  }

  async run({ feed, channel, isUnsettled }: Facts): Promise<void> {
    const { name, command } = this.#subject;
    const current = await this.#currentVersion();
    const release = await newestRelease(feed, channel, this.#context.signal);
    if (release && isAhead(release.version, current)) {
      await this.#nameOthers(current);
      await this.#obtain(release, feed);
      await this.#tryOut(release);
      await this.#replace(release, current);
    } else if (isUnsettled && command) {
      this.#say(`An earlier update to ${name} ${current} was ended before its command had.`);
      await this.#settle(current);
      this.#say(`✓ ${name} ${current} is in place, and its command ended with exit code 0.`);
    } else this.#say(nothingNewer(`${name} ${current}`, current, { release, channel }));
  }

  /** Of the file, not of this process: somebody may have replaced it since. */
  async #currentVersion(): Promise<string> {
    const { name, runner } = this.#subject;
    const { file } = this.#place;
    const said = await programVersion([...runner, file], this.#context.signal);
    this.#context.signal.throwIfAborted();
    if ('version' in said) return said.version;
    throw refused(
      `Nobody can tell whether a release is newer than ${file}: ${said.trouble}.`,
      `replace it by hand with the release of ${name} that is wanted.`,
    );
  }

  async #obtain(release: Release, feed: string): Promise<void> {
    const { signal } = this.#context;
    const asset = assetOf(release, this.#subject.asset);
    const sum = await sumOf(release, asset.name, { feed, signal });
    const line = new TransferLine(this.#context, `Downloading ${asset.name} ${release.version}`);
    let size = 0;
    const onProgress = (bytes: number, total: number | null) => {
      size = bytes;
      line.progress(bytes, total);
    };
    try {
      await fetchProgram(this.#place, { asset, sum, feed, signal, limits: programLimits, onProgress });
      line.done(size);
    } catch (error) {
      line.end();
      throw error;
    }
  }

  /** One rename replaces one name. */
  async #nameOthers(current: string): Promise<void> {
    const { file } = this.#place;
    // One that an earlier update has kept is not the same file any more.
    const others = (await stat(file)).nlink - 1;
    if (others === 0) return;
    const names = others === 1 ? '1 other name (a hard link)' : `${others} other names (hard links)`;
    this.#context.stderr.write(
      `! ${file} has ${names}: what is run by ${others === 1 ? 'it' : 'them'} stays ${current}.\n`,
    );
  }

  /** The new file has to run here, and to be what it is published as, before it takes the old one's place. */
  async #tryOut({ version }: Release): Promise<void> {
    const trouble = await this.#troubleWithNew(version);
    if (trouble === null) return;
    const { asset } = this.#subject;
    throw failed(
      `Nothing was changed: ${asset} of ${version} does not do its work here: ${trouble}.`,
      'see that this machine is one that it is made for; else tell its publisher.',
    );
  }

  async #troubleWithNew(version: string): Promise<string | null> {
    const { runner } = this.#subject;
    const { temporary } = this.#place;
    const { signal } = this.#context;
    const strange = runner.length === 0 ? await strangeness(temporary) : null;
    if (strange !== null) return strange;
    const said = await programVersion([...runner, temporary], signal);
    signal.throwIfAborted();
    if (!('version' in said)) return said.trouble;
    return said.version === version ? null : `it says that it is ${said.version}`;
  }

  async #replace({ version }: Release, before: string): Promise<void> {
    const { name, command } = this.#subject;
    if (command) await keepOld(this.#place);
    try {
      await putInPlace(this.#place);
    } catch (error) {
      // The second name of a file that is still in its place.
      if (command && (await identityAt(this.#place.kept)) === this.#place.identity)
        await dropOld(this.#place);
      throw error;
    }
    if (command) await this.#settle(version);
    const well = command ? ', and its command ended with exit code 0' : '';
    this.#say(`✓ ${name} ${version} is in place of ${before}${well}.`);
  }

  #settle(version: string): Promise<void> {
    const { command } = this.#subject;
    const say = (line: string) => this.#say(line);
    return settle(this.#place, { command: command ?? [], version, say, signal: this.#context.signal });
  }

  #say(line: string): void {
    this.#context.stdout.write(`${line}\n`);
  }
}

function nothingNewer(
  what: string,
  current: string,
  { release, channel }: { release: Release | null; channel: Channel },
): string {
  if (release === null) return `${what} stays: nothing is published on ${channel} yet.`;
  if (isAhead(current, release.version))
    return `${what} stays: it is newer than ${release.version}, the newest on ${channel}.`;
  return `${what} is the newest on ${channel}.`;
}
