import { expect, it } from 'vitest';
import { readJsonLine } from '../../src/progress/line.ts';

const time = '2026-11-22T19:06:16.947Z';
const line = (fields: object) =>
  JSON.stringify({ level: 30, time, phase: 'pull', msg: 'fetching', ...fields });
const event = { time, level: 'info', phase: 'pull', message: 'fetching' };

it.each([
  ['a line', line({}), event],
  ['with percent', line({ percent: 42 }), { ...event, percent: 42 }],
  ['a warning, and fields of its own', line({ level: 40, file: '.env' }), { ...event, level: 'warn' }],
  ['an error', line({ level: 60 }), { ...event, level: 'error' }],
  ['with a percent that is none', line({ percent: 'all' }), event],
])('%s', (_, text, told) => expect(readJsonLine(text)?.event).toEqual(told));

it.each([
  ['text', 'fetching'],
  ['half', line({}).slice(0, 20)],
  ['a list', '[1]'],
  ['another phase', line({ phase: 'boil' })],
  ['no time', line({ time: 'now' })],
  ['no sentence', line({ msg: 1 })],
  ['no level', line({ level: 'info' })],
])('not %s', (_, text) => expect(readJsonLine(text)).toBeNull());

it('has the fields beside the event', () => {
  const fields = {
    level: 30,
    time: '2026-11-21T10:42:07.000Z',
    phase: 'save',
    msg: 'kept',
    restorePoint: { bytes: 1 },
  };
  expect(readJsonLine(JSON.stringify(fields))?.fields).toEqual(fields);
});
