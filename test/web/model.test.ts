import { describe, expect, it } from 'vitest';
import { createProduct } from '../../src/core/names/product.ts';
import { englishTexts } from '../../src/presentation/english.ts';
import {
  createTextsAndFormats,
  formatCodeText,
  formatElapsedTime,
} from '../../src/presentation/texts-and-formats.ts';
import { formatLogLine, formatRunReport } from '../../src/web/model/run-report.ts';
import { type PollingConditions, planRequests } from '../../src/web/model/schedule.ts';
import { computeServerTime, syncServerClock } from '../../src/web/model/server-clock.ts';
import { DismissedRunStorage, storeReloadHandover, takeReloadHandover } from '../../src/web/model/storage.ts';
import { getTexts, setTexts } from '../../src/web/texts.ts';
import { endedRun } from './state.ts';

describe('requests', () => {
  const calm: PollingConditions = {
    isVisible: true,
    isDialogOpen: false,
    hasServerResponse: true,
    runInProgressId: null,
    isRequestPending: false,
    requestedAt: 1000,
    isStatusNeeded: false,
  };
  it.each<[Partial<PollingConditions>, number | null, string | null]>([
    [{}, 61_000, null],
    [{ isVisible: false }, null, null],
    [{ isVisible: false, isStatusNeeded: true, isDialogOpen: true, runInProgressId: 'a' }, null, null],
    [{ requestedAt: null }, 0, null],
    [{ isStatusNeeded: true }, 0, null],
    [{ isRequestPending: true, isStatusNeeded: true }, null, null],
    [{ isDialogOpen: true }, 6_000, null],
    [{ runInProgressId: 'a' }, 6_000, null],
    [{ runInProgressId: '', isDialogOpen: true }, 6_000, null],
    [{ runInProgressId: 'a', isDialogOpen: true }, null, 'a'],
    [{ runInProgressId: 'a', isDialogOpen: true, isStatusNeeded: true }, 0, 'a'],
  ])('are scheduled: %j', (change, askAt, follow) => {
    expect(planRequests({ ...calm, ...change })).toEqual({ askAt, follow });
  });
});

describe('time', () => {
  it('is computed from the server clock', () => {
    const clock = syncServerClock('2026-11-20T10:00:00.000Z', 500, null);
    expect(computeServerTime(clock, 2_500)).toBe(Date.parse('2026-11-20T10:00:02.000Z'));
    expect(syncServerClock('soon', 900, clock)).toBe(clock);
    expect(computeServerTime(null, 1)).toBeNull();
    const { age } = createTextsAndFormats(englishTexts, computeServerTime(clock, 500));
    expect(age('2026-11-20T09:00:00.000Z')).toBe('1 h');
    expect(age('2026-11-20T11:00:00.000Z')).toBe('0 s');
    expect([
      age(null),
      age('soon'),
      createTextsAndFormats(englishTexts, null).age('2026-11-20T09:00:00.000Z'),
    ]).toEqual(['', '', '']);
  });

  it('is formatted as elapsed time', () => {
    expect([0, 64_000, 3_600_000, 48 * 3_600_000].map(formatElapsedTime)).toEqual([
      '0:00',
      '1:04',
      '1:00:00',
      '48:00:00',
    ]);
  });
});

const shelf = (kept: Map<string, string> = new Map()) => ({
  getItem: (key: string) => kept.get(key) ?? null,
  setItem: (key: string, text: string) => void kept.set(key, text),
  removeItem: (key: string) => void kept.delete(key),
});
const noShelf = () => {
  throw new Error('SecurityError');
};

describe('browser storage', () => {
  it('shares dismissed runs between all pages', () => {
    const kept = shelf();
    const ends = new DismissedRunStorage(() => kept);
    ends.add('a');
    ends.add('b');
    expect([...new DismissedRunStorage(() => kept).all()]).toEqual(['a', 'b']);
    for (let count = 0; count < 80; count += 1) ends.add(`run${count}`);
    expect(new DismissedRunStorage(() => kept).all().size).toBe(50);
  });

  it.each([['{'], ['{}'], ['[1,null]']])('ignores unexpected content: %s', (text) => {
    const kept = shelf(new Map([['svc-update-closed', text]]));
    expect([...new DismissedRunStorage(() => kept).all()]).toEqual([]);
  });

  it('falls back to the memory of the page if storage is forbidden', () => {
    const ends = new DismissedRunStorage(noShelf);
    ends.add('a');
    expect([...ends.all()]).toEqual(['a']);
    expect(() => storeReloadHandover(noShelf, { run: 'a', queued: 1 })).not.toThrow();
    expect(takeReloadHandover(noShelf)).toBeNull();
  });
});

describe('a report', () => {
  it('contains the facts of the run, and its last log lines in a code fence that the lines cannot close', () => {
    const run = endedRun('failed', {
      code: 'pull-unknown',
      cause: 'no such tag',
      warnings: ['odd'],
      message: '',
    });
    const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);
    const text = formatRunReport(run, 'v1.4.2', [...lines, '````']);
    expect(text).toContain(
      '- Update: v1.4.2 → v1.5.0\n- Running version: v1.4.2\n- Outcome: failed\n- Code: pull-unknown\n',
    );
    expect(text).toContain('- Warning: odd');
    expect(text).not.toContain('Message');
    expect(text).toContain('`````text\nline 11\n');
    expect(text.endsWith('\n````\n`````\n')).toBe(true);
    expect(formatRunReport(run, null, [])).not.toContain('```');
  });

  it.each([
    [{ time: 't', level: 'warn', phase: 'pull', message: 'slow' }, 't WARN pull slow'],
    [{ message: 'bare' }, 'bare'],
    [null, null],
  ])('formats the log line %j', (line, text) => {
    expect(formatLogLine(line)).toBe(text);
  });
});

describe('texts', () => {
  it('of an unknown code come from the server', () => {
    expect(formatCodeText({ a: 'A' }, 'a', 'said')).toBe('A');
    expect(formatCodeText({ a: (said) => `A: ${said}` }, 'a', 'said')).toBe('A: said');
    expect(formatCodeText({ a: 'A' }, 'b', 'said')).toBe('said');
    expect(formatCodeText({}, 'constructor', 'said')).toBe('said');
  });

  it('are replaced individually, also in nested objects', () => {
    setTexts({ product: 'Acme', outcomes: { failed: 'misslungen' }, updateNow: 'Jetzt' });
    expect(getTexts()).toMatchObject({ product: 'Acme', updateNow: 'Jetzt', cancel: 'Cancel' });
    expect(getTexts().outcomes).toMatchObject({ failed: 'misslungen', updated: 'updated' });
    setTexts({ product: createProduct({ name: 'larder' }) });
    expect(getTexts()).toMatchObject({ product: 'larder', updateNow: 'Jetzt' });
    setTexts({
      product: 'svc',
      outcomes: { failed: 'failed' },
      updateNow: 'Update now',
    });
  });
});
