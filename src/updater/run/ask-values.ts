import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { Cancelled } from '../../core/progress/stops.ts';
import { UpdateError } from '../../core/progress/update-error.ts';
import { mistakeInValue } from '../../core/release/release-settings.ts';
import type { RunContext } from './run-context.ts';

/** The given settings; missing values are typed on the terminal, which does not show them. Refusal: settings-invalid. */
export async function askValues(
  { options: { settings }, cancellation, log }: RunContext,
  input: NodeJS.ReadableStream = process.stdin,
): Promise<ReadonlyMap<string, string> | null> {
  if (settings === null) return null;
  const values = new Map<string, string>();
  for (const [name, given] of settings) {
    const value = given ?? (await typedValue(name, input, cancellation.signal));
    log.addMaskRules(() => ({ secrets: [{ key: 'SECRET', value }] }));
    values.set(name, value);
  }
  return values;
}

async function typedValue(
  name: string,
  input: NodeJS.ReadableStream,
  cancelled: AbortSignal,
): Promise<string> {
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  process.stderr.write(`Value of ${name} (not shown): `);
  // A restarted container may have a terminal that no person is looking at.
  const signal = AbortSignal.any([cancelled, AbortSignal.timeout(600_000)]);
  const closed = once(lines, 'close').then(() => '');
  const value = await Promise.race([lines.question('', { signal }).catch(() => ''), closed]);
  lines.close();
  process.stderr.write('\n');
  if (cancelled.aborted) throw new Cancelled();
  const mistake = mistakeInValue(value);
  if (mistake === null) return value;
  throw new UpdateError('settings-invalid', `the value of ${name} ${mistake}`);
}
