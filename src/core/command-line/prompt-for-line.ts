import { type Readable, Writable } from 'node:stream';

interface Terminal {
  stdin: Readable;
  stderr: { write(text: string): unknown };
  signal: AbortSignal;
}

/** Returns an empty string if the input ends or the signal is aborted. A secret is not shown while it is typed. */
export async function promptForLine(
  question: string,
  { stdin: input, stderr, signal }: Terminal,
  isSecret: boolean,
): Promise<string> {
  const { createInterface } = await import('node:readline');
  const output = new Writable({ write: (_, __, done) => done() });
  const hidden = { output, terminal: true, historySize: 0 };
  const lines = createInterface({ input, signal, ...(isSecret && hidden) });
  // While the input is hidden, the terminal is in raw mode, so Ctrl+C does not send SIGINT.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  stderr.write(question);
  const response = await new Promise<string>((resolve) => {
    lines.once('line', resolve);
    lines.once('close', () => resolve(''));
  });
  lines.close();
  if (signal.aborted || isSecret) stderr.write('\n');
  return response;
}
