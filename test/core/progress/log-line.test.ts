import { describe, expect, it } from 'vitest';
import type { ProgressEvent } from '../../../src/core/progress/event.ts';
import { formatEventLine, parseEventLine, parseJsonEventLine } from '../../../src/core/progress/log-line.ts';

const time = '2026-11-21T10:42:07.123Z';
const event = (message: string, more: Partial<ProgressEvent> = {}): ProgressEvent => ({
  time,
  level: 'info',
  phase: 'pull',
  message,
  ...more,
});

describe('the line protocol', () => {
  it.each<[ProgressEvent, string]>([
    [
      event('ghcr.io/acme/svc:v1.5.0 51 of 120 MB', { percent: 42 }),
      `${time} INFO  pull 42% ghcr.io/acme/svc:v1.5.0 51 of 120 MB`,
    ],
    [event('v1.4.2 → v1.5.0', { phase: 'plan' }), `${time} INFO  plan v1.4.2 → v1.5.0`],
    [
      event('failed: nothing was changed', { phase: 'done', level: 'error' }),
      `${time} ERROR done failed: nothing was changed`,
    ],
    [event('all', { level: 'warn', percent: 100 }), `${time} WARN  pull 100% all`],
    [event(''), `${time} INFO  pull `],
    [event('', { percent: 7 }), `${time} INFO  pull 7% `],
    [event('42% done'), `${time} INFO  pull \\42% done`],
    [event('13% of it', { percent: 42 }), `${time} INFO  pull 42% 13% of it`],
    [event('420% of it'), `${time} INFO  pull 420% of it`],
    [event('\\42% odd'), `${time} INFO  pull \\\\42% odd`],
    [event('two\nlines\r\n\tand a tab'), `${time} INFO  pull two\\nlines\\r\\n\\tand a tab`],
    [
      event('\u001b[31mred\u007f\u0085\u2028\u2029'),
      `${time} INFO  pull \\u001b[31mred\\u007f\\u0085\\u2028\\u2029`,
    ],
    [event('lone \ud83d, pair 😀'), `${time} INFO  pull lone \\ud83d, pair 😀`],
    [event('  spaces  '), `${time} INFO  pull   spaces  `],
  ])('formats and parses %j', (value, line) => {
    expect(formatEventLine(value)).toBe(line);
    expect(parseEventLine(line)).toEqual(value);
  });

  it.each([
    '',
    'Error: something',
    `${time} INFO pull one space too few`,
    `${time} INFO  pulling`,
    `${time} DEBUG pull x`,
    '2026-13-41T10:42:07.123Z INFO  pull x',
    ` ${time} INFO  pull x`,
  ])('ignores any other line: %j', (line) => {
    expect(parseEventLine(line)).toBeNull();
  });

  it('accepts a line end and a trimmed trailing space', () => {
    expect(parseEventLine(`${time} INFO  pull x\n`)).toEqual(event('x'));
    expect(parseEventLine(`${time} INFO  pull x\r\n`)).toEqual(event('x'));
    expect(parseEventLine(`${time} INFO  pull`)).toEqual(event(''));
    expect(parseEventLine(`${time} INFO  pull 7%`)).toEqual(event('', { percent: 7 }));
  });
});

describe('a line of JSON', () => {
  const fetching = event('fetching');
  const json = (fields: object) =>
    JSON.stringify({ level: 30, time, phase: 'pull', msg: 'fetching', ...fields });

  it.each([
    ['a line', json({}), fetching],
    ['with percent', json({ percent: 42 }), { ...fetching, percent: 42 }],
    ['a warning, and fields of its own', json({ level: 40, file: '.env' }), { ...fetching, level: 'warn' }],
    ['an error', json({ level: 60 }), { ...fetching, level: 'error' }],
    ['with a percent that is none', json({ percent: 'all' }), fetching],
  ])('is parsed: %s', (_, text, told) => expect(parseJsonEventLine(text)?.event).toEqual(told));

  it.each([
    ['text', 'fetching'],
    ['half', json({}).slice(0, 20)],
    ['a list', '[1]'],
    ['another phase', json({ phase: 'boil' })],
    ['no time', json({ time: 'now' })],
    ['no sentence', json({ msg: 1 })],
    ['no level', json({ level: 'info' })],
  ])('is ignored: %s', (_, text) => expect(parseJsonEventLine(text)).toBeNull());

  it('is parsed with its additional fields', () => {
    const fields = { level: 30, time, phase: 'save', msg: 'kept', restorePoint: { bytes: 1 } };
    expect(parseJsonEventLine(JSON.stringify(fields))?.fields).toEqual(fields);
  });
});
