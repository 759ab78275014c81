import { expect, it, vi } from 'vitest';
import { type FollowedRunState, formatNotesBelowPhases } from '../../src/client/follow/followed-run-state.ts';
import { JsonEventPrinter, PlainLinePrinter } from '../../src/client/follow/line-printers.ts';
import { LivePhasePrinter } from '../../src/client/follow/live-phase-printer.ts';
import { formatClockTime } from '../../src/client/output/client-texts-and-formats.ts';
import {
  escapeControlCharacters,
  escapeResponseTexts,
  fitTextToColumns,
  formatJsonLine,
  formatTable,
  measureTextWidth,
  truncateText,
  wrapText,
} from '../../src/client/output/text.ts';
import { parseRunWithServerTime } from '../../src/wire/api-client/parse-responses.ts';
import type { FailedResult } from '../../src/wire/api-client/request-result.ts';

// Some expected texts contain the current minute.
vi.useFakeTimers({ toFake: ['Date'] });

const start = Date.parse('2026-11-21T10:42:00Z');
const at = (seconds: number) => new Date(start + seconds * 1000).toISOString();
const nothing: FailedResult = { kind: 'none', why: { what: 'late' } };

/** A run that has been in one state since its start, received at second 0. */
function viewOf(state: string, refused: FailedResult | null = null, more: object = {}): FollowedRunState {
  const steps = [{ state, startedAt: at(0), endedAt: null, message: 'm' }];
  const run = parseRunWithServerTime({
    id: 'a',
    state,
    startedAt: at(0),
    steps,
    message: 'm',
    now: at(0),
    from: 'v1',
    to: 'v2',
    ...more,
  });
  if (run === null) throw new Error('no run');
  return { run, receivedAt: 0, lastResponseAt: 0, refused };
}

it.each<[FollowedRunState, number, string[]]>([
  [
    viewOf('recreate', nothing),
    61,
    ['svc has been unavailable for 1 min. On the server, run: docker logs svc-updater'],
  ],
  [
    viewOf('verify', nothing, { log: 'docker logs other' }),
    190,
    ['svc has been unavailable for 3 min. On the server, run: docker logs other'],
  ],
  [
    viewOf('pull', nothing),
    12,
    ['No response from svc for 12 s. Check your connection. The update continues on the server.'],
  ],
  [
    viewOf('pull', { kind: 'logged-out', status: 401, location: null, inFront: null }),
    5,
    ['No response from svc for 5 s: login required (401). The update continues on the server.'],
  ],
  [
    viewOf('pull', { kind: 'logged-out', status: 401, location: null, inFront: 'Basic' }),
    5,
    [
      'No response from svc for 5 s: a proxy requires a login (401, Basic). The update continues on the server.',
    ],
  ],
  // During the downtime, the responses of a proxy are ignored.
  [viewOf('verify', { kind: 'logged-out', status: 302, location: '/', inFront: null }), 5, []],
  [
    viewOf('pull', null, { cancelRequestedBy: 'anna' }),
    5,
    ['anna requested cancellation, but it may be too late.'],
  ],
  [
    viewOf('waiting', null, { until: at(3600) }),
    5,
    [`Waiting until ${formatClockTime(at(3600), at(0))} at the latest. New jobs stay queued.`],
  ],
])('%#: formats the lines below the phases after %d s', (view, seconds, notes) => {
  expect(formatNotesBelowPhases(view, seconds * 1000)).toEqual(notes);
});

function plainly(view: FollowedRunState, seconds: readonly number[]): string[] {
  const said: string[] = [];
  const lines = new PlainLinePrinter({ write: (text) => said.push(text.trimEnd()) });
  lines.begin(view, 0);
  for (const second of seconds) lines.show(view, second * 1000);
  return said;
}
const everySecond = (until: number) => Array.from({ length: until }, (_, index) => index + 1);

it.each<[string, FollowedRunState, number, string[]]>([
  [
    'a long phase',
    viewOf('pull', null, { percent: 42 }),
    25,
    ['Downloading, 10 s: 42 % m', 'Downloading, 20 s: 42 % m'],
  ],
  [
    'jobs',
    viewOf('waiting', null, {
      until: at(3600),
      jobs: [
        { kind: 'backup', title: 'nightly' },
        { kind: 'job', title: null },
      ],
    }),
    21,
    [
      'Waiting, 0 s: for 2 jobs, backup nightly, job',
      `Waiting until ${formatClockTime(at(3600), at(0))} at the latest. New jobs stay queued.`,
      'Waiting, 10 s: for 2 jobs, backup nightly, job',
      'Waiting, 20 s: for 2 jobs, backup nightly, job',
    ],
  ],
])('prints a plain line every 10 s during %s', (_, view, seconds, lines) => {
  expect(plainly(view, everySecond(seconds))).toEqual(['Updating svc v1 → v2', ...lines]);
});

it('with --json, prints only once to stderr that svc is unavailable', () => {
  const events: string[] = [];
  const sentences: string[] = [];
  const printer = new JsonEventPrinter(
    { write: (text) => events.push(text) },
    { write: (text) => sentences.push(text) },
  );
  for (const second of everySecond(130)) printer.show(viewOf('recreate', nothing), second * 1000);
  printer.news({ kind: 'line', line: { message: 'a\u009bb\u202e' } });
  expect(events).toEqual(['{"event":"line","data":{"message":"a\\u009bb\\u202e"}}\n']);
  expect(sentences).toEqual([
    'svc has been unavailable for 1 min. On the server, run: docker logs svc-updater\n',
  ]);
});

function listOn(columns: () => number, rows: number) {
  const written: string[] = [];
  const stdout = { write: (text: string) => written.push(text) };
  return { written, list: new LivePhasePrinter({ stdout, columns, rows: () => rows, isTerminal: false }) };
}

it('redraws the list only after a change, and overwrites lines that a narrower terminal has wrapped', () => {
  let columns = 80;
  const { list, written } = listOn(() => columns, 24);
  const view = viewOf('pull', null, { message: 'a sentence as long as half of a line is' });
  list.begin(view, 0);
  const { length } = written;
  list.show(view, 500);
  expect(written).toHaveLength(length);
  columns = 40;
  list.show(view, 1000);
  // The list has three lines, and the terminal has wrapped the first into two.
  const [first] = written.at(-1)?.split('\n') ?? [];
  expect(first).toBe('\x1b[4A\r● Downloading  a sentence as l…     1 s\x1b[K');
  // The screen is never cleared from the top, because tmux would save it.
  expect(written.at(-1)?.endsWith('\n\x1b[J')).toBe(true);
});

it('shows the current phase on a terminal with few rows', () => {
  const { list, written } = listOn(() => 40, 3);
  const view = viewOf('pull', null, { percent: 42 });
  list.begin(view, 1000);
  list.show(view, 2000);
  expect(written.at(-1)).toBe(
    '\x1b[2A\r● Downloading  42 % m               2 s\x1b[K\n  Replace\x1b[K\n\x1b[J',
  );
});

it('escapes texts for a terminal and measures their columns', () => {
  expect(escapeControlCharacters('a\tb\u2066\ud800')).toBe('a\\u0009b\\u2066\ufffd');
  expect(escapeResponseTexts({ a: ['\x1b'], b: null, c: 1 })).toEqual({ a: ['\\u001b'], b: null, c: 1 });
  expect(JSON.parse(formatJsonLine({ a: '\x1b\u202e"' }))).toEqual({ a: '\x1b\u202e"' });
  expect([measureTextWidth('日本'), measureTextWidth('e\u0301'), measureTextWidth('🚀a')]).toEqual([4, 1, 3]);
  expect([truncateText('日本語', 5), fitTextToColumns('ab', 4), truncateText('abc', 0)]).toEqual([
    '日本…',
    'ab  ',
    '',
  ]);
  expect(wrapText('one two three', 7)).toEqual(['one two', 'three']);
  expect(
    formatTable([
      ['a', 'b'],
      ['long', 'c'],
    ]),
  ).toEqual(['  a     b', '  long  c']);
});
