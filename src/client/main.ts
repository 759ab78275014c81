import { constants } from 'node:os';
import { type Context, Failure, stoppedCode, UsageError } from './command.ts';
import { commands } from './commands.ts';
import { helpOf, helpOfAll } from './help.ts';
import { findCommand, parseTyped } from './parse.ts';
import { jsonLine, shown } from './shown.ts';
import { version } from './version.ts';

/** Resolves with the exit code; what went wrong has been said. */
async function main(words: readonly string[], signal: AbortSignal): Promise<number> {
  const { stdout, stderr, stdin, env } = process;
  const say = (text: string) => void (text !== '' && stderr.write(`${text}\n`));
  try {
    const typed = parseTyped(words, commands);
    if (typed.kind === 'version') {
      stdout.write(`svc ${version}\n`);
      return 0;
    }
    if (typed.kind === 'help') {
      stdout.write(typed.command === null ? helpOfAll(commands, typed.group) : helpOf(typed.command));
      return 0;
    }
    // What is set and not empty switches colours off, whatever it says: https://no-color.org
    const isTerminal = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
    const context: Context = {
      args: typed.args,
      env,
      stdout,
      stderr,
      stdin,
      isTerminal,
      colour: isTerminal,
      canAsk: stdin.isTTY === true && stderr.isTTY === true,
      columns: () => stdout.columns || 80,
      rows: () => stdout.rows || 24,
      signal,
      version,
      now: () => performance.now(),
      fetch,
    };
    outlivesOutput = typed.command.outlivesOutput === true;
    return await typed.command.run(context);
  } catch (error) {
    if (error instanceof UsageError) {
      const name = findCommand(words, commands)?.name ?? (words[0] === 'instance' ? words[0] : '');
      // What was typed stands in it, and may be anything.
      const mistakes = error.message.split('\n').map(shown).join('\n');
      say(`svc: ${mistakes}\nMore: ${['svc', name, '--help'].filter(Boolean).join(' ')}`);
      return 2;
    }
    if (error instanceof Failure) {
      if (error.problem !== null && words.includes('--json')) stdout.write(jsonLine(error.problem));
      say(error.message);
      return error.exitCode;
    }
    say(`svc: this is a bug: ${error instanceof Error ? error.stack : String(error)}`);
    return 1;
  }
}

const stopped = new AbortController();
let stoppedBy: number = constants.signals.SIGINT;
let outlivesOutput = false;
const stop = (name: NodeJS.Signals, number: number) => {
  // Who types Ctrl-C twice does not want to wait for anything. The others are often sent twice by themselves.
  if (stopped.signal.aborted && name === 'SIGINT') process.exit(128 + number);
  if (!stopped.signal.aborted) stoppedBy = number;
  stopped.abort();
};
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop);
// Whoever reads the output may have seen enough of it: `svc instance history | head -1`. What is followed is let go as
// with Ctrl-C, as nobody learns how it ends. A terminal that is gone (EIO) has sent its signal, too, or will.
let unwritable: string | null = null;
const cannotWrite = ({ code = 'unknown' }: NodeJS.ErrnoException) => {
  if (code === 'EIO') return;
  unwritable ??= code;
  if (!outlivesOutput) stopped.abort();
};
process.stdout.on('error', cannotWrite);
process.stderr.on('error', () => {});

const ended = await main(process.argv.slice(2), stopped.signal);
// A command that was stopped does not know by what.
const exitCode = ended === stoppedCode && stopped.signal.aborted ? 128 + stoppedBy : ended;
// Connections that are kept for the next request would keep the process.
process.stdout.write('', (error) => {
  if (error) cannotWrite(error);
  const isLost = unwritable !== null && unwritable !== 'EPIPE';
  const lost = isLost ? `svc: what it says cannot be written (${unwritable})\n` : '';
  process.stderr.write(lost, () => process.exit(isLost ? exitCode || 1 : exitCode));
});
