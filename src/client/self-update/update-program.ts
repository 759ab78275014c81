import { stat } from 'node:fs/promises';
import { disk } from '../../files/file-system.ts';
import { shellWord } from '../../progress/advice.ts';
import { type Channel, isAhead, type Release } from '../../release/channel.ts';
import type { Context } from '../command.ts';
import { programLimits } from './download.ts';
import { broken, cancelled, failed, refused, unchanged } from './failure.ts';
import { fetchProgram } from './fetch-program.ts';
import { takeLock } from './lock.ts';
import { cleanUp, dropOld, findPlace, keepOld, type Place, putBack, putInPlace } from './place.ts';
import { machineMismatch, type Program, versionOf } from './program.ts';
import { assetOf, feedOf, newestRelease, provenSumOf, sumOf } from './published.ts';
import { runToEnd } from './run-to-end.ts';
import { TransferLine } from './transfer-line.ts';

/**
 * Replaces a program of one file by the newest release of a channel, or leaves it as it is (docs/contract.md 9). At every moment the old file
 * or the new one is in its place, whole.
 * @throws Failure, UsageError
 */
export async function updateProgram(program: Program, channel: Channel, context: Context): Promise<void> {
  const feed = feedOf(context.env);
  const place = await findPlace(program.file);
  const lock = await takeLock(place.file);
  try {
    const { isUnsettled } = lock.isHeld ? await cleanUp(place) : { isUnsettled: false };
    await new Update(program, place, context).run({ feed, channel, isUnsettled });
  } catch (error) {
    if (context.signal.aborted && error === context.signal.reason)
      throw cancelled(`Nothing was changed at ${place.file}`);
    throw error;
  } finally {
    await disk.remove(place.temporary).catch(() => {});
    await lock.release();
  }
}

/** One update of one file. */
class Update {
  readonly #program: Program;
  readonly #place: Place;
  readonly #context: Context;

  constructor(program: Program, place: Place, context: Context) {
    this.#program = program;
    this.#place = place;
    this.#context = context;
  }

  /** `isUnsettled`: an earlier one was killed before its command had ended. */
  async run(facts: { feed: string; channel: Channel; isUnsettled: boolean }): Promise<void> {
    const { feed, channel, isUnsettled } = facts;
    const { name, command } = this.#program;
    const current = await this.#currentVersion();
    const release = await newestRelease(feed, channel, this.#context.signal);
    if (release && isAhead(release.version, current)) {
      await this.#nameOthers(current);
      await this.#obtain(release, feed);
      await this.#tryOut(release);
      await this.#replace(release, current);
    } else if (isUnsettled && command) {
      this.#say(`An earlier update to ${name} ${current} was ended before its command had.`);
      await this.#settle(command, current);
      this.#say(`✓ ${name} ${current} is in place, and its command ended with exit code 0.`);
    } else this.#say(`${name} ${current} ${whyNothing(current, release, channel)}`);
  }

  /** Of the file, not of this process: somebody may have replaced it since. */
  async #currentVersion(): Promise<string> {
    const { file } = this.#place;
    const said = await versionOf(this.#program, file, this.#context.signal);
    if ('version' in said) return said.version;
    throw refused(
      `Nobody can tell whether a release is newer than ${file}: ${said.trouble}.`,
      `replace it by hand with the release of ${this.#program.name} that is wanted.`,
    );
  }

  /** One rename replaces one name. */
  async #nameOthers(current: string): Promise<void> {
    const { file } = this.#place;
    // One that an earlier update has kept is not the same file any more.
    const others = (await stat(file)).nlink - 1;
    if (others === 0) return;
    const [names, them] =
      others === 1 ? ['1 other name (a hard link)', 'it'] : [`${others} other names (hard links)`, 'them'];
    this.#context.stderr.write(`! ${file} has ${names}: what is run by ${them} stays ${current}.\n`);
  }

  async #obtain(release: Release, feed: string): Promise<void> {
    const { signal, trust } = this.#context;
    const asset = assetOf(release, this.#program.asset);
    if (trust === null) this.#say(`${asset.name} is checked by SHA256SUMS alone: this build trusts no key.`);
    const from = { feed, signal };
    const sum =
      trust === null
        ? await sumOf(release, asset.name, from)
        : await provenSumOf(release, asset.name, trust, from);
    const line = new TransferLine(this.#context, `Downloading ${asset.name} ${release.version}`);
    const onProgress = line.progress.bind(line);
    try {
      const transfer = { asset, feed, signal, limits: programLimits, onProgress };
      line.done(await fetchProgram(this.#place, transfer, sum));
    } finally {
      line.end();
    }
  }

  /** The new file has to run here, and to be what it is published as, before it takes the old one's place. */
  async #tryOut({ version }: Release): Promise<void> {
    const { temporary } = this.#place;
    const strange = this.#program.runtime === null ? await machineMismatch(temporary) : null;
    const said = strange
      ? { trouble: strange }
      : await versionOf(this.#program, temporary, this.#context.signal);
    if ('version' in said && said.version === version) return;
    const trouble = 'trouble' in said ? said.trouble : `it says that it is ${said.version}`;
    throw unchanged(
      `${this.#program.asset} of ${version} does not do its work here: ${trouble}.`,
      'see that this machine is one that it is made for; else tell its publisher.',
    );
  }

  async #replace({ version }: Release, before: string): Promise<void> {
    const { name, command } = this.#program;
    if (command) await keepOld(this.#place);
    await putInPlace(this.#place);
    if (command) await this.#settle(command, version);
    const well = command ? ', and its command ended with exit code 0' : '';
    this.#say(`✓ ${name} ${version} is in place of ${before}${well}.`);
  }

  /**
   * Runs the command with the new file in its place. Where it does not end with 0 within a minute, the old file comes
   * back and the command is run again.
   */
  async #settle(command: readonly string[], version: string): Promise<void> {
    const { signal } = this.#context;
    const shown = command.map(shellWord).join(' ');
    this.#say(`Running: ${shown}`);
    const { trouble } = await runToEnd(command, { show: true, signal });
    if (trouble === null) return dropOld(this.#place);
    this.#say(`With ${version}, the command ${trouble}. Putting the old file back.`);
    await putBack(this.#place);
    this.#say(`Running: ${shown}`);
    // It runs also where the update was stopped: the old state is back only when the command was well with it.
    const again = await runToEnd(command, { show: true });
    const taken = `${version} was taken back: its command ${trouble}.`;
    if (again.trouble !== null)
      throw broken(
        `${taken} With the old file, which is in its place again, the command ${again.trouble}.`,
        `see why the command fails; ${this.#place.file} is as it was before.`,
      );
    if (signal.aborted) throw cancelled('The old file is back, and its command ended with exit code 0');
    throw failed(
      `${taken} The old file is in its place again, and with it the command ended with exit code 0.`,
      'see above what the command says, then run the update again.',
    );
  }

  #say(line: string): void {
    this.#context.stdout.write(`${line}\n`);
  }
}

function whyNothing(current: string, release: Release | null, channel: Channel): string {
  if (release === null) return `stays: nothing is published on ${channel} yet.`;
  if (isAhead(current, release.version))
    return `stays: it is newer than ${release.version}, the newest on ${channel}.`;
  return `is the newest on ${channel}.`;
}
