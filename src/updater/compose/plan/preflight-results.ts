import * as z from 'zod/mini';
import { jsonText } from '../../../core/progress/json-text.ts';
import type { CommandEnd } from '../../../engine/cli/run-attached.ts';

const level = z.enum(['pass', 'warn', 'fail']);
const text = z.string();
const resultSchema = jsonText(z.object({ level, check: text, message: text, advice: z.optional(text) }));

const maxRows = 100;
const maxPrinted = 20;
const widest = 30;

/** The results of a preflight command as a table, and why the update is refused; null if it may start. */
export function judgePreflight({ exitCode, lines }: CommandEnd) {
  const read = lines.map((line) => ({ line, result: resultSchema.safeParse(line).data }));
  const results = read.flatMap(({ result }) => result ?? []);
  const width = Math.min(widest, Math.max(0, ...results.map(({ check }) => check.length)));
  const rows = results
    .slice(0, maxRows)
    .map(({ level, check, message }) => ({ level, text: `${level}  ${check.padEnd(width)}  ${message}` }));
  const failed = results.filter((result) => result.level === 'fail').slice(0, maxRows);
  if (failed.length === 0 && exitCode === 0) return { rows, failure: null };
  const ended = exitCode === null ? 'did not finish within 60 s' : `exited with ${exitCode}`;
  const sentences = failed.map((result) => `${result.check}: ${result.message}`);
  const [message = `the preflight command ${ended}`, ...detail] = sentences;
  const printed = read.flatMap(({ line, result }) => (result || line.trim() === '' ? [] : [line]));
  const advice = failed[0]?.advice;
  const failure = { message, detail: [...detail, ...printed.slice(-maxPrinted)], ...(advice && { advice }) };
  return { rows, failure };
}
