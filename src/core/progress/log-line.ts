import * as z from 'zod/mini';
import { createJsonTextSchema } from '../text/json-text.ts';
import { escapeUnprintable } from '../text/plain-text.ts';
import { logLevels, type Phase, type ProgressEvent, phases } from './event.ts';

const percentForm = '(?:100|[1-9]?\\d)%';
const startsLikePercent = new RegExp(`^${percentForm}(?: |$)`);
const lineForm = new RegExp(
  '^(\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z) ' +
    `(${logLevels.map((level) => level.toUpperCase().padEnd(5)).join('|')}) ` +
    `(${phases.join('|')})` +
    `(?: (${percentForm}))?(?: (.*))?$`,
  's',
);

const short: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const long: Record<string, string> = { '\\': '\\', n: '\n', r: '\r', t: '\t' };

/** Formats an event as a log line (docs/contract.md 6.1) without the line break. */
export function formatEventLine({ time, level, phase, percent, message }: ProgressEvent): string {
  // Double each backslash and escape control characters, so that `parseEventLine` can restore the message.
  const escaped = escapeUnprintable(message.replace(/[\\\n\r\t]/g, (char) => short[char] ?? char));
  const head = `${time} ${level.toUpperCase().padEnd(5)} ${phase}`;
  if (percent !== undefined) return `${head} ${percent}% ${escaped}`;
  // A leading backslash marks a message that begins like a percentage.
  return `${head} ${startsLikePercent.test(escaped) ? '\\' : ''}${escaped}`;
}

/** Parses a line that `formatEventLine` wrote. Returns null for any other line, such as a line of a stack trace. */
export function parseEventLine(line: string): ProgressEvent | null {
  const match = lineForm.exec(line.replace(/\r?\n?$/, ''));
  if (!match) return null;
  const [, time = '', level = '', phase, percent, text = ''] = match;
  if (Number.isNaN(Date.parse(time))) return null;
  return {
    time,
    level: logLevels.find((known) => known === level.trim().toLowerCase()) ?? 'info',
    phase: phase as Phase,
    ...(percent === undefined ? {} : { percent: Number.parseInt(percent, 10) }),
    message: text.replace(/\\(?:u([0-9a-f]{4})|([\\nrt\d]))/g, (_, code: string | undefined, char: string) =>
      code === undefined ? (long[char] ?? char) : String.fromCharCode(Number.parseInt(code, 16)),
    ),
  };
}

/** All fields of a `--log json` line, including those that are not part of the event, such as `restorePoint`. */
export type LogLineFields = Readonly<Record<string, unknown>>;

/** Parses a line of `--log json`. Returns null for any other line. */
export function parseJsonEventLine(line: string): { event: ProgressEvent; fields: LogLineFields } | null {
  const fields = jsonLine.safeParse(line).data;
  if (fields === undefined) return null;
  const { level, time, phase, msg: message } = fields;
  const word = level >= 50 ? 'error' : level >= 40 ? 'warn' : 'info';
  const event = { time: new Date(time).toISOString(), level: word, phase, message } as const;
  const percent = percentSchema.safeParse(fields.percent).data;
  return { event: percent === undefined ? event : { ...event, percent }, fields };
}

const percentSchema = z.int().check(z.gte(0), z.lte(100));
const jsonLine = createJsonTextSchema(
  z.looseObject({
    level: z.number(),
    // Years after 9999 and negative years are rejected, because log lines and the status require four digits.
    time: z.string().check(z.refine((time) => /^\d{4}-/.test(new Date(time).toJSON() ?? ''))),
    phase: z.enum(phases),
    msg: z.string(),
  }),
);
