import { access, constants, stat } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';
import { UsageError } from '../command.ts';
import { names } from '../names.ts';
import { refused } from './failure.ts';

/** What is to be updated. */
export interface Subject {
  /** As people call it: `svc`, `svc-worker`. */
  name: string;
  /** Where it is, as it was named. */
  file: string;
  /** What it is published as. */
  asset: string;
  /** What is typed before a path to run the file there: a script of Node needs Node. */
  runner: readonly string[];
  /** Tells whether it does its work; null where nothing has to be run. */
  command: readonly string[] | null;
}

/** The client itself: one file, which this process runs. */
export function ownSubject(): Subject {
  const [runtime, file] = process.argv;
  const { name, asset } = names();
  if (runtime === undefined || file === undefined)
    throw refused(
      `Nobody can tell which file this ${name} is.`,
      `download ${asset} of the newest release by hand.`,
    );
  return { name, file, asset, runner: [runtime], command: null };
}

/**
 * A program of one file.
 * @throws UsageError where the command could never be run; Failure, refused
 */
export async function programSubject(
  file: string,
  command: readonly string[],
  { PATH = '' }: NodeJS.ProcessEnv,
): Promise<Subject> {
  if (!(await canRun(command[0] ?? '', PATH)))
    throw new UsageError(`the command after -- cannot be run: there is no program ${command[0]}`);
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
  if (process.platform !== 'linux' || arch === undefined)
    throw refused(
      `Programs are published for Linux on amd64 and arm64; this is ${process.platform} on ${process.arch}.`,
      'build it from source.',
    );
  // Somebody may have left it the name that it was downloaded by.
  const name = basename(file).replace(/-linux-(?:amd64|arm64)$/, '');
  return { name, file, asset: `${name}-linux-${arch}`, runner: [], command };
}

/** Whether there is such a program: before anything is replaced, as its failure would be taken for that of the new file. */
async function canRun(program: string, path: string): Promise<boolean> {
  if (program === '') return false;
  const places = program.includes('/')
    ? [program]
    : path.split(delimiter).map((directory) => join(directory || '.', program));
  const found = await Promise.all(
    places.map((place) =>
      Promise.all([stat(place), access(place, constants.X_OK)]).then(
        ([found]) => found.isFile(),
        () => false,
      ),
    ),
  );
  return found.includes(true);
}
