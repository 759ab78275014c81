import { update } from '../../../src/client/commands/update.ts';

/** `svc update` alone as a program: the command with what the client's frame gives it. */

const version = process.env.SVC_UPDATER_BUILD_VERSION ?? 'dev';
const stopping = new AbortController();
process.on('SIGINT', () => stopping.abort());

const words = process.argv.slice(3);
const end = words.indexOf('--');
const own = end < 0 ? words : words.slice(0, end);
const options: Record<string, string> = {};
for (let at = 0; at < own.length; at += 2) options[(own[at] ?? '').slice(2)] = own[at + 1] ?? '';

if (process.argv[2] === '--version') process.stdout.write(`${version}\n`);
else
  try {
    process.exitCode = await update.run({
      args: { options, words: [], commandLine: end < 0 ? [] : words.slice(end + 1) },
      env: process.env,
      stdout: process.stdout,
      stderr: process.stderr,
      stdin: process.stdin,
      isTerminal: false,
      colour: false,
      canAsk: false,
      columns: () => 80,
      signal: stopping.signal,
      version,
      now: () => performance.now(),
      fetch,
    });
  } catch (error) {
    const { name, message, exitCode } = error as Error & { exitCode?: number };
    process.stderr.write(
      `${name === 'Failure' || name === 'UsageError' ? message : (error as Error).stack}\n`,
    );
    process.exitCode = exitCode ?? (name === 'UsageError' ? 2 : 1);
  }
