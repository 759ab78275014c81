import { describe, expect, it } from 'vitest';
import { addedUp, describePoint, size } from '../../../src/agent/data/survey-point.ts';

const room = (device: string, needed: number, free: number, where = device) => ({
  device,
  where,
  needed,
  free,
});

describe('addedUp', () => {
  it('adds up what is needed on one file system, with the least that was seen free there', () => {
    expect(
      addedUp([room('1', 5, 100, 'the volume of db'), room('2', 1, 9), room('1', 7, 90, 'the directory')]),
    ).toEqual([room('1', 12, 90, 'the volume of db and the directory'), room('2', 1, 9)]);
  });
});

describe('describePoint', () => {
  const entry = {
    kind: 'files' as const,
    source: null,
    part: null,
    bytes: 1,
    words: 'the files of app (2 mounts)',
  };

  it('says what is kept, for how long, where, and what is not', () => {
    const rooms = [room('1', 2_000_000, 40_000_000_000, '/opt/svc')];
    expect(describePoint({ entries: [entry], left: ['cache'], seconds: 9, rooms })).toEqual([
      'restore point: the files of app (2 mounts); away for about 9 s longer, takes 2 MB of 40.0 GB free in /opt/svc',
      'in no restore point: what cache keeps',
    ]);
  });

  it('says so where there is nothing to keep', () => {
    expect(describePoint({ entries: [], left: [], seconds: 0, rooms: [] })).toEqual([
      'restore point: nothing to keep; away for about 0 s longer, takes no room',
    ]);
  });
});

describe('size', () => {
  it.each([
    [0, '0 MB'],
    [1, '1 MB'],
    [325_000_000, '325 MB'],
    [999_600_000, '1.0 GB'],
    [1_250_000_000, '1.3 GB'],
  ])('%d bytes are %s', (bytes, words) => expect(size(bytes)).toBe(words));
});
