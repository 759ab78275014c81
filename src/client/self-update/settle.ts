import { broken, failed } from './failure.ts';
import type { Place } from './place.ts';
import { type Ended, runToEnd } from './run-to-end.ts';
import { dropOld, putBack } from './swap.ts';

const deadline = 60_000;

/** The command that tells whether the new file does its work. */
export interface Trial {
  command: readonly string[];
  /** Of the new file. */
  version: string;
  say: (line: string) => void;
  signal: AbortSignal;
}

/**
 * Runs the command with the new file in its place. Where it does not end with 0 within a minute, the old file comes back
 * and the command is run again.
 * @throws Failure, failed where the command is well with the old file, else broken; Cancelled
 */
export async function settle(place: Place, { command, version, say, signal }: Trial): Promise<void> {
  const shown = shownCommand(command);
  say(`Running: ${shown}`);
  const first = await runToEnd(command, { deadline, show: true, signal });
  if (first.trouble === null) return dropOld(place);
  say(`With ${version}, the command ${first.trouble}. Putting the old file back.`);
  await putBack(place);
  say(`Running: ${shown}`);
  // Whoever has stopped the first one wants the old state back, and that needs this one.
  const second = await runToEnd(command, { deadline, show: true });
  throw afterwards(first, second, { place, version, signal });
}

function afterwards(
  first: Ended,
  second: Ended,
  { place, version, signal }: Pick<Trial, 'version' | 'signal'> & { place: Place },
): Error {
  if (second.trouble !== null)
    return broken(
      `${version} was taken back: its command ${first.trouble}. With the old file, which is in its place again, the command ${second.trouble}.`,
      `see why the command fails; ${place.file} is as it was before.`,
    );
  if (signal.aborted) return new Cancelled('The old file is back, and its command ended with exit code 0');
  return failed(
    `${version} was taken back: its command ${first.trouble}. The old file is in its place again, and with it the command ended with exit code 0.`,
    'see above what the command says, then run the update again.',
  );
}

/** Somebody has stopped the update, and the old file is in its place. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';

  constructor(state: string) {
    super(`Cancelled. ${state}.`);
  }
}

/** As it can be typed. */
export const shownCommand = (command: readonly string[]): string =>
  command
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
