import type { Readable } from 'node:stream';
import { CancelledError } from '../../core/cancellation/cancelled.ts';
import { promptForLine } from '../../core/command-line/prompt-for-line.ts';
import { UpdateError } from '../../core/errors/update-error.ts';
import { describeInvalidSettingValue } from '../../core/release/release-settings.ts';
import type { RunContext } from './run-context.ts';

/** Time limit in ms for typing a value. The terminal of a restarted container may be unattended. */
const typingMs = 600_000;

/**
 * Reads missing values from the terminal, without echo. Null if the command has no `--set`.
 * @throws UpdateError settings-invalid
 */
export async function promptForSettingValues(
  { options: { settings }, cancellation, log }: RunContext,
  stdin: Readable = process.stdin,
): Promise<ReadonlyMap<string, string> | null> {
  if (settings === null) return null;
  const values = new Map<string, string>();
  for (const [name, given] of settings) {
    const signal = AbortSignal.any([cancellation.signal, AbortSignal.timeout(typingMs)]);
    const terminal = { stdin, stderr: process.stderr, signal };
    const value = given ?? (await promptForLine(`Value of ${name} (not shown): `, terminal, true));
    if (cancellation.signal.aborted) throw new CancelledError();
    const mistake = describeInvalidSettingValue(value);
    if (mistake !== null) throw new UpdateError('settings-invalid', `the value of ${name} ${mistake}`);
    log.addMaskRules(() => ({ secrets: [{ key: 'SECRET', value }] }));
    values.set(name, value);
  }
  return values;
}
