import { expect, onTestFailed } from 'vitest';
import type { Level } from '../../../src/progress/event.ts';
import { type Outcome, outcomeOf } from '../../../src/progress/outcome.ts';
import type { Snapshot } from '../../rig/snapshot.ts';
import type { UpdateResult, UpdaterOptions } from '../../rig/updater-run.ts';
import { expectNothingLeft } from './attempt.ts';
import { type ExpectedUpdate, expectUntouched, expectUpdated } from './expect-update.ts';
import type { Instance } from './instance.ts';

/** What a good run says beside its ordinary lines. */
export interface ExpectedLog {
  /** Texts that stand in some line. */
  says?: readonly (string | RegExp)[];
  /** One for each warning, in order; there are no others. */
  warns?: readonly (string | RegExp)[];
}

/** An update that must succeed: the instance as `expectUpdated` says, the log as expected. */
export function updateWell(
  instance: Instance,
  args: readonly string[],
  expected: ExpectedUpdate & ExpectedLog,
  options?: UpdaterOptions,
): Promise<UpdateResult> {
  const judge: Judge = (before, after) => expectUpdated(before, after, expected);
  return runWell(instance, args, 'updated', judge, expected, options);
}

/** A run that finds nothing to do: exit 0, `unchanged`, the very same containers and bytes. */
export function findUnchanged(
  instance: Instance,
  args: readonly string[],
  expected: ExpectedLog = {},
  options?: UpdaterOptions,
): Promise<UpdateResult> {
  return runWell(instance, args, 'unchanged', expectUntouched, expected, options);
}

type Judge = (before: Snapshot, after: Snapshot) => void;

async function runWell(
  instance: Instance,
  args: readonly string[],
  ending: Outcome,
  judge: Judge,
  log: ExpectedLog,
  options?: UpdaterOptions,
): Promise<UpdateResult> {
  const before = await instance.snapshot();
  const result = await instance.update(args, options);
  const after = await instance.snapshot();
  try {
    expect(result.exitCode).toBe(0);
    expect(outcome(result)).toBe(ending);
    judge(before, after);
    expectLog(result, log);
    await expectNothingLeft(instance);
  } catch (error) {
    // Not left to a hook: tests that run side by side have no common one.
    console.log(textOf(result));
    throw error;
  }
  return result;
}

/** The run's log is printed where the test fails. */
export async function runUpdater(
  instance: Instance,
  args: readonly string[],
  options: UpdaterOptions = {},
): Promise<UpdateResult> {
  const result = await instance.update(args, options);
  onTestFailed(() => console.log(textOf(result)));
  return result;
}

const textOf = ({ exitCode, log }: UpdateResult) => `exit code ${exitCode}\n${log}`;

export function expectLog(result: UpdateResult, { says = [], warns = [] }: ExpectedLog): void {
  for (const text of says) expect(result.log).toMatch(text);
  expect(messages(result, 'error')).toEqual([]);
  const warnings = messages(result, 'warn');
  expect(warnings).toEqual(
    warns.map((text) =>
      typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text),
    ),
  );
}

export function outcome({ lines }: UpdateResult): Outcome | null {
  const last = lines.at(-1);
  return last ? outcomeOf(last) : null;
}

export const messages = ({ lines }: UpdateResult, level: Level): string[] =>
  lines.filter((line) => line.level === level).map(({ message }) => message);
