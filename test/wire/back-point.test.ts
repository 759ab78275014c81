import { describe, expect, it } from 'vitest';
import { pointOf, secondsToKeep } from '../../src/wire/back-point.ts';
import { runOf } from '../../src/wire/reader-shapes.ts';
import type { Run } from '../../src/wire/status.ts';

const at = '2026-11-21T10:42:15.000Z';
const point = { at, version: 'v1.4.2', bytes: 325_000_000 };
const wentBack = { version: 'v1.4.2', at, kept: null };
const past = (outcome: NonNullable<Run['outcome']>, more: Partial<Run> = {}): Run =>
  runOf({ id: 'r', state: outcome, outcome, ...more });

describe('the run that can be gone back from', () => {
  it.each<[string, Run[], boolean]>([
    ['is none where there was none', [], false],
    ['is the last one', [past('updated', { point })], true],
    ['is one that did not end well', [past('broken', { point })], true],
    ['is a way back, which can be undone', [past('updated', { kind: 'back', point })], true],
    [
      'is not hidden by what changed nothing',
      [past('refused'), past('failed'), past('updated', { point })],
      true,
    ],
    ['is not hidden by a point of a run that changed nothing', [past('failed', { point })], false],
    ['is none before a run without a point', [past('updated'), past('updated', { point })], false],
    [
      'is none where nobody knows how the last one ended',
      [past('crashed'), past('updated', { point })],
      false,
    ],
    [
      'is none where it has gone back by itself',
      [past('failed', { point, wentBack }), past('updated', { point })],
      false,
    ],
  ])('%s', (_, runs, isThere) => {
    expect(pointOf(runs)?.point ?? null).toEqual(isThere ? point : null);
  });
});

describe('the seconds to keep the data', () => {
  const save = { state: 'save', startedAt: at, endedAt: '2026-11-21T10:42:27.540Z', message: '' } as const;

  it.each<[string, Partial<Run>, number | null]>([
    ['are those of the last time', { point, steps: [save] }, 12.5],
    ['are not known of a run that kept nothing', { steps: [save] }, null],
    ['are not known while it lasts', { point, steps: [{ ...save, endedAt: null }] }, null],
    ['are not known where a clock was set', { point, steps: [{ ...save, endedAt: begun }] }, null],
    ['are not known without the phase', { point }, null],
  ])('%s', (_, run, seconds) => {
    expect(secondsToKeep([past('updated'), past('updated', run)])).toBe(seconds);
  });
});
const begun = '2026-11-21T10:42:07.000Z';
