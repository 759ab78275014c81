import { expect, onTestFailed } from 'vitest';
import { type ExpectedUpdate, judgeUntouched, judgeUpdated } from '../../judge/judge.ts';
import { type ExpectedLog, judgeGoodLog, judgeOutcome } from '../../judge/log.ts';
import { type Look, look } from '../../judge/look.ts';
import type { UpdateResult, UpdaterOptions } from '../../rig/updater-run.ts';
import type { Instance } from './instance.ts';

/** Runs an update that must succeed, and checks the instance and the log. */
export function updateWell(
  instance: Instance,
  args: readonly string[],
  expected: ExpectedUpdate & ExpectedLog,
  options?: UpdaterOptions,
): Promise<UpdateResult> {
  return runWell(instance, args, options, (result, before, after) => [
    ...judgeOutcome(result, ['updated']),
    ...judgeUpdated(before, after, expected),
    ...judgeGoodLog(result, expected),
  ]);
}

/** Runs an update that must change nothing: exit code 0, `unchanged`, identical containers and files. */
export function findUnchanged(
  instance: Instance,
  args: readonly string[],
  expected: ExpectedLog = {},
  options?: UpdaterOptions,
): Promise<UpdateResult> {
  return runWell(instance, args, options, (result, before, after) => [
    ...judgeOutcome(result, ['unchanged']),
    ...judgeUntouched(before, after),
    ...judgeGoodLog(result, expected),
  ]);
}

async function runWell(
  instance: Instance,
  args: readonly string[],
  options: UpdaterOptions | undefined,
  judge: (result: UpdateResult, before: Look, after: Look) => string[],
): Promise<UpdateResult> {
  const before = await look(instance);
  const result = await instance.update(args, options);
  expect(judge(result, before, await look(instance)), textOf(result)).toEqual([]);
  return result;
}

/** Runs the updater and prints its log if the test fails. */
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
