import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitCodes } from '../../core/progress/outcome.ts';
import { Engine } from '../../engine/cli/engine.ts';
import { Notifier } from '../../notify/notifier.ts';
import { updateProject } from '../compose/index.ts';
import { Cancellation } from '../run/cancellation.ts';
import { writeDockerConfig } from '../run/environment/docker-config.ts';
import { parseEngineAddress } from '../run/environment/engine-address.ts';
import { formatVersionLine } from '../run/environment/program-versions.ts';
import { unknownOutcomeDetails } from '../run/log/outcome-details.ts';
import { createOutputSink, Log } from '../run/log/run-log.ts';
import { logFailure, logLastLine, toRunOutcome } from '../run/log/run-outcome.ts';
import { type CommandLine, parseCommandLine, UsageError } from '../run/options/command-line.ts';
import { explainErrorCode } from '../run/options/explain-error-code.ts';
import type { UpdaterCommand } from '../run/options/option-table.ts';
import { addValuesFromSetFile } from '../run/options/set-file-values.ts';
import { logFormatOf, updateOptionsOf } from '../run/options/update-options.ts';
import { formatUsage } from '../run/options/usage.ts';
import type { CrashReporter, InitialRunContext } from '../run/run-context.ts';
import { fetchImages } from './fetch.ts';
import { removeRestorePoints } from './remove-restore-points.ts';
import { rollBackProject } from './rollback.ts';
import { type InstanceCommand, runInstanceCommand } from './run-instance-command.ts';
import { showPlan } from './show-plan.ts';

/** Maximum time in ms for which the process waits for notifications to be sent before it exits. */
const notificationTimeoutMs = 2_000;

/** URL of the server's bundle, which is separate because no other command needs the server. */
const serverBundle = new URL('serve.mjs', import.meta.url).href;
interface ServerBundle {
  serve(env: NodeJS.ProcessEnv): Promise<number>;
}

// These functions load code that an update of a compose project does not use. A shorter program starts faster.
const loadSwarm = () => import('../swarm/index.ts');
const loadBump = () => import('./bump.ts');
const loadEnable = () => import('./enable.ts');
const loadRehearse = () => import('./rehearse.ts');
const loadReport = () => import('./write-report.ts');

/** Each command returns its exit code. */
const commands: Record<UpdaterCommand, (line: CommandLine) => number | Promise<number>> = {
  help: ({ product }) => print(formatUsage(product)),
  version: async ({ product }) => print(await formatVersionLine(product, process.env)),
  explain: ({ product, code }) => print(explainErrorCode(code, product)),
  bump: (line) =>
    withLog(line, async (log, { signal }) => {
      const { bumpVersionPins } = await loadBump();
      return exitCodes[await bumpVersionPins(line, log, signal)];
    }),
  enable: (line) =>
    line.values.has('to')
      ? withLog(
          line,
          async (log, { signal }) => (await (await loadEnable()).enableFiles(line, log, signal)).exitCode,
        )
      : enableRunning(line),
  update: withInstance({
    kind: 'run',
    onProject: async (context, instance, soFar) => {
      const rehearsedPlan = context.options.rehearse
        ? await (await loadRehearse()).rehearseBeforeUpdate(context, instance, soFar)
        : null;
      return updateProject({ ...context, rehearsedPlan }, instance, soFar);
    },
    onStack: async (given) => (await loadSwarm()).updateStack(given),
  }),
  plan: withInstance({
    kind: 'look',
    onProject: showPlan,
    onStack: async (given) => (await loadSwarm()).showStackPlan(given),
  }),
  fetch: withInstance({ kind: 'look', onProject: fetchImages }),
  rehearse: withInstance({
    kind: 'look',
    again: 'rehearse',
    onProject: async (context, instance, soFar) =>
      (await loadRehearse()).rehearseUpdate(context, instance, soFar),
  }),
  rollback: withInstance({ kind: 'rollback', onProject: rollBackProject }),
  'restore-point': withInstance({ kind: 'run', onProject: removeRestorePoints }),
  report: (line) => withEngine(line, async (given) => (await loadReport()).writeReport(given)),
  serve: async () => ((await import(serverBundle)) as ServerBundle).serve(process.env),
};

const enableRunning = withInstance({
  kind: 'look',
  again: 'enable',
  onProject: async (context, instance, soFar, line) =>
    (await loadEnable()).enableInstance(context, instance, soFar, line),
});

/** No other file sets the exit code or exits the process. */
process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  let line: CommandLine;
  try {
    line = await addValuesFromSetFile(parseCommandLine(argv, process.env), process.stdin.isTTY);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const log = new Log(createOutputSink(process.env.SVC_UPDATER_LOG === 'json' ? 'json' : 'line'));
    for (const mistake of error.mistakes) log.error(mistake);
    const known = { outcome: 'usage', code: null, message: 'nothing was done', facts: {} } as const;
    const result = { ...known, detail: log.lastError, advice: 'See --help.' };
    logLastLine(toRunOutcome(result, exitCodes.usage), log);
    return exitCodes.usage;
  }
  return commands[line.command](line);
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** Runs a command with a log. Signals cancel the command. */
async function withLog(
  line: CommandLine,
  work: (log: Log, cancellation: Cancellation, onCrash: InitialRunContext['onCrash']) => Promise<number>,
): Promise<number> {
  const log = new Log(createOutputSink(logFormatOf(line), line.command === 'report' ? 2 : 1));
  const cancellation = new Cancellation(log);
  const reportError: CrashReporter = (error) => {
    const facts = { ...unknownOutcomeDetails, product: line.product };
    return logFailure(error, log, facts, cancellation.signalNumber).exitCode;
  };
  let report = reportError;
  // Node.js emits this event for unhandled rejections as well.
  process.on('uncaughtException', (error) => process.exit(report(error)));
  try {
    await chooseTemporaryDirectory();
    return await work(log, cancellation, (better) => {
      report = better;
    });
  } catch (error) {
    return reportError(error);
  }
}

/** If the default temporary directory is on a read-only file system, uses /dev/shm, which every container has. */
async function chooseTemporaryDirectory(): Promise<void> {
  try {
    await rm(await mkdtemp(join(tmpdir(), 'svc-updater-')), { recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
    process.env.TMPDIR = '/dev/shm';
  }
}

function withInstance(story: InstanceCommand): (line: CommandLine) => Promise<number> {
  return (line) => withEngine(line, (context) => runInstanceCommand(context, story));
}

function withEngine(
  line: CommandLine,
  work: (context: InitialRunContext) => Promise<number>,
): Promise<number> {
  return withLog(line, async (log, cancellation, onCrash) => {
    const configDirectory = await writeDockerConfig(
      await mkdtemp(join(tmpdir(), 'svc-updater-')),
      process.env,
      log,
    );
    const engine = new Engine(
      { ...parseEngineAddress(process.env), configDirectory },
      { home: homedir(), signal: cancellation.signal, onAway: (sentence) => log.warn(sentence) },
    );
    cancellation.onFirstSignal = () => void engine.watchShutdown();
    const times = { startedAt: Date.now(), beganAt: performance.now() };
    const options = updateOptionsOf(line);
    const notifier = new Notifier(line.product.name, (failure) => process.stderr.write(`${failure}\n`));
    notifier.addresses = options.notify;
    const context = { engine, log, cancellation, notifier, ...times, options, line, onCrash };
    const exitCode = await work(context);
    // Exit explicitly, because a pending DNS lookup cannot be cancelled and would delay the exit.
    if (!(await notifier.close(notificationTimeoutMs))) process.exit(exitCode);
    return exitCode;
  });
}
