import { describe, expect, it } from 'vitest';
import { createRunWithDefaults } from '../../../src/wire/api-client/parse-responses.ts';
import {
  findDataSavingDowntimeSeconds,
  findRollbackableRun,
} from '../../../src/wire/derived/rollbackable-run.ts';
import type { Run } from '../../../src/wire/status.ts';

const at = '2026-11-21T10:42:15.000Z';
const point = { at, version: 'v1.4.2', bytes: 325_000_000, downtimeSeconds: 12.5 };
const rolledBack = { version: 'v1.4.2', at };
const past = (outcome: NonNullable<Run['outcome']>, more: Partial<Run> = {}): Run =>
  createRunWithDefaults({ id: 'r', state: outcome, outcome, ...more });
const saved = past('updated', { restorePoint: point });

describe('the update that can be rolled back', () => {
  it.each<[string, Run[], boolean]>([
    ['is the last one', [saved], true],
    [
      'is none after a rollback, which cannot be undone',
      [past('updated', { kind: 'rollback', restorePoint: point }), saved],
      false,
    ],
    ['is not hidden by runs that changed nothing', [past('refused'), past('failed'), saved], true],
    ['is none that changed nothing', [past('failed', { restorePoint: point })], false],
    ['is none if it is unknown how the last one ended', [past('crashed'), saved], false],
    ['is none if the last one has no restore point', [past('updated'), saved], false],
    [
      'is the same after a failed update that was rolled back, which keeps the earlier restore point',
      [past('failed', { restorePoint: { ...point, version: 'v1.5.0' }, rolledBack }), saved],
      true,
    ],
  ])('%s', (_, runs, isThere) => {
    expect(findRollbackableRun(runs)?.restorePoint ?? null).toEqual(isThere ? point : null);
  });
});

describe('the downtime of a restore point', () => {
  it.each<[string, Run[], number | null]>([
    [
      'is that of the last one that succeeded',
      [past('updated'), past('failed', { restorePoint: point, downtimeSeconds: 90 }), saved],
      12.5,
    ],
    [
      'includes the start of the new version',
      [past('updated', { restorePoint: point, downtimeSeconds: 37 }), saved],
      37,
    ],
    [
      'are those before, if the last one tells none',
      [past('updated', { restorePoint: { ...point, downtimeSeconds: null } }), saved],
      12.5,
    ],
  ])('%s', (_, runs, seconds) => {
    expect(findDataSavingDowntimeSeconds(runs)).toBe(seconds);
  });
});
