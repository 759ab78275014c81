import { mkdtemp } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Engine } from '../engine/cli/engine.ts';
import { formatEnd } from '../progress/end-line.ts';
import { exitCodes } from '../progress/outcome.ts';
import { bump, withBumpSettings } from './bump/bump.ts';
import { fetchImages } from './fetch.ts';
import { reportEnding } from './log/ending.ts';
import { Log, stdoutSink } from './log/log.ts';
import { Cancellation } from './process/cancellation.ts';
import { prepareConfig } from './process/credentials.ts';
import { engineAddress } from './process/engine-address.ts';
import { withTargetOfArchive } from './process/expectations.ts';
import { explain } from './process/explain.ts';
import {
  type BumpOptions,
  type FileValues,
  type Options,
  parseOptions,
  type UpdateOptions,
  UsageError,
} from './process/options.ts';
import { chooseTemporaryDirectory } from './process/temporary-directory.ts';
import { usageOf } from './process/usage.ts';
import { versionLine } from './process/versions.ts';
import { removePoint } from './remove-point.ts';
import { endingFacts, nothingYet } from './resume/run-so-far.ts';
import { rollback } from './rollback.ts';
import { showPlan } from './show-plan.ts';
import { showStackPlan, updateStack } from './stack/index.ts';
import { update } from './update.ts';

/** Only here is the exit code set, and nothing else ends the process. */
process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  let options: Options;
  try {
    options = parseOptions(argv, process.env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const log = new Log(stdoutSink(process.env.SVC_UPDATER_LOG === 'json' ? 'json' : 'line'));
    for (const mistake of error.mistakes) log.error(mistake);
    log.enter('done');
    const advice = 'See --help.';
    log.error(formatEnd({ outcome: 'usage', code: null, state: 'nothing was done', advice }), {
      outcome: 'usage',
      advice,
    });
    return exitCodes.usage;
  }
  if (options.command === 'help') process.stdout.write(usageOf(options.product));
  if (options.command === 'version') process.stdout.write(await versionLine(options.product, process.env));
  if (options.command === 'explain') process.stdout.write(explain(options.code, options.product));
  if (options.command === 'help' || options.command === 'version' || options.command === 'explain') return 0;

  const log = new Log(stdoutSink(options.log));
  const cancellation = new Cancellation(log);
  const soFar = nothingYet();
  try {
    await chooseTemporaryDirectory();
    const read = (file: FileValues) => parseOptions(argv, process.env, file);
    if (options.command === 'bump') {
      options = await withBumpSettings(options, (file) => read(file) as BumpOptions, log);
      return exitCodes[await bump(options, log, cancellation.signal)];
    }
    const configDirectory = await prepareConfig(
      await mkdtemp(join(tmpdir(), 'svc-updater-')),
      process.env,
      log,
    );
    const engine = new Engine(
      { ...engineAddress(process.env), configDirectory },
      { home: homedir(), signal: cancellation.signal, onAway: (sentence) => log.warn(sentence) },
    );
    cancellation.onSignal = () => void engine.watchShutdown();
    const times = { startedAt: Date.now(), beganAt: performance.now() };
    const doors = { engine, log, cancellation, ...times };
    const context = { ...doors, options: await withTargetOfArchive(options) };
    const readUpdate = (file: FileValues) => read(file) as UpdateOptions;
    if (options.command === 'rollback') return await rollback({ ...doors, options }, readUpdate);
    if (options.command === 'restore-point') return await removePoint(context, readUpdate);
    if ((options.command === 'update' || options.command === 'plan') && options.stack !== null) {
      if (options.command === 'update') return await updateStack(context, readUpdate);
      await showStackPlan(context, readUpdate);
      return 0;
    }
    if (options.command === 'update') return await update(context, readUpdate);
    if (options.command === 'fetch') return (await fetchImages(context, soFar, readUpdate)).exitCode;
    await showPlan(context, soFar, readUpdate);
    return 0;
  } catch (error) {
    const facts = { ...endingFacts(soFar), product: options.product };
    return reportEnding(error, log, facts, cancellation.signalNumber).exitCode;
  }
}
