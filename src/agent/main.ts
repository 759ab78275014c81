import { mkdtemp } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Engine } from '../engine/cli/engine.ts';
import { formatEnd } from '../progress/end-line.ts';
import { exitCodes } from '../progress/outcome.ts';
import { bump } from './bump/bump.ts';
import { fetchImages } from './fetch.ts';
import { reportEnding } from './log/ending.ts';
import { nothingKnown } from './log/ending-facts.ts';
import { Log, stdoutSink } from './log/log.ts';
import { Cancellation } from './process/cancellation.ts';
import { type CommandLine, parseCommandLine, UsageError } from './process/command-line.ts';
import { prepareConfig } from './process/credentials.ts';
import { engineAddress } from './process/engine-address.ts';
import { explain } from './process/explain.ts';
import type { Command } from './process/option-table.ts';
import { logFormatOf, updateOptionsOf } from './process/options.ts';
import { chooseTemporaryDirectory } from './process/temporary-directory.ts';
import { usageOf } from './process/usage.ts';
import { versionLine } from './process/versions.ts';
import { removePoint } from './remove-point.ts';
import { rollback } from './rollback.ts';
import { runOnInstance, type Story } from './run-on-instance.ts';
import { showPlan } from './show-plan.ts';
import { showStackPlan, updateStack } from './stack/index.ts';
import { update } from './update.ts';

/** Each gives the exit code. */
const commands: Record<Command, (line: CommandLine) => number | Promise<number>> = {
  help: ({ product }) => print(usageOf(product)),
  version: async ({ product }) => print(await versionLine(product, process.env)),
  explain: ({ product, code }) => print(explain(code, product)),
  bump: (line) => withLog(line, async (log, { signal }) => exitCodes[await bump(line, log, signal)]),
  update: (line) => withEngine(line, { kind: 'run', onProject: update, onStack: updateStack }),
  plan: (line) => withEngine(line, { kind: 'look', onProject: showPlan, onStack: showStackPlan }),
  fetch: (line) => withEngine(line, { kind: 'look', onProject: fetchImages }),
  rollback: (line) => withEngine(line, { kind: 'rollback', onProject: rollback }),
  'restore-point': (line) => withEngine(line, { kind: 'run', onProject: removePoint }),
};

/** Only here is the exit code set, and nothing else ends the process. */
process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  let line: CommandLine;
  try {
    line = parseCommandLine(argv, process.env);
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
  return commands[line.command](line);
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** A command with a log, which signals cancel. */
async function withLog(
  line: CommandLine,
  work: (log: Log, cancellation: Cancellation) => Promise<number>,
): Promise<number> {
  const log = new Log(stdoutSink(logFormatOf(line)));
  const cancellation = new Cancellation(log);
  try {
    await chooseTemporaryDirectory();
    return await work(log, cancellation);
  } catch (error) {
    const facts = { ...nothingKnown, product: line.product };
    return reportEnding(error, log, facts, cancellation.signalNumber).exitCode;
  }
}

/** A command on an instance, which needs an engine. */
function withEngine(line: CommandLine, story: Story): Promise<number> {
  return withLog(line, async (log, cancellation) => {
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
    const context = { engine, log, cancellation, ...times, options: updateOptionsOf(line) };
    return runOnInstance({ ...context, line }, story);
  });
}
