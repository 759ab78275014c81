import { type Context, Failure, UsageError } from './command.ts';
import { commands } from './commands.ts';
import { helpOf, helpOfAll } from './help.ts';
import { findCommand, parseTyped } from './parse.ts';
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
      signal,
      version,
      now: () => performance.now(),
      fetch,
    };
    return await typed.command.run(context);
  } catch (error) {
    if (error instanceof UsageError) {
      const name = findCommand(words, commands)?.name ?? '';
      say(`svc: ${error.message}\nMore: ${['svc', name, '--help'].filter(Boolean).join(' ')}`);
      return 2;
    }
    if (error instanceof Failure) {
      say(error.message);
      return error.exitCode;
    }
    say(`svc: this is a bug: ${error instanceof Error ? error.stack : String(error)}`);
    return 1;
  }
}

const interrupted = new AbortController();
process.on('SIGINT', () => {
  // Who asks twice does not want to wait for anything.
  if (interrupted.signal.aborted) process.exit(130);
  interrupted.abort();
});
// Whoever reads the output may have seen enough of it: `svc instance history | head -1`.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1));

const exitCode = await main(process.argv.slice(2), interrupted.signal);
// Connections that are kept for the next request would keep the process.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
