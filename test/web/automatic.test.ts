import { describe, expect, it } from 'vitest';
import { englishTexts } from '../../src/presentation/english.ts';
import {
  formatAutomaticUpdate,
  formatAutomaticUpdateSettings,
} from '../../src/presentation/present-automatic.ts';
import { createTextsAndFormats } from '../../src/presentation/texts-and-formats.ts';
import { createAutomaticUpdatesBody, savedSettingsOf } from '../../src/web/model/settings-draft.ts';
import { automaticOf, statusOf } from './state.ts';

// A Friday. The texts use the reader's time zone, here the time zone of the tests.
const now = Date.parse('2026-11-20T10:00:00.000Z');
const kept = (blockedBy: object) => automaticOf({ nextAt: null, blockedBy: blockedBy as never });
const paused = { code: 'paused', message: 'the update to v1.5.0 failed' };

describe('the text about automatic updates', () => {
  const local = (day: number, hour: number): string => new Date(2026, 10, day, hour).toISOString();
  const at = (nextAt: string, hour = 10) =>
    formatAutomaticUpdate(
      statusOf({ automatic: automaticOf({ nextAt }) }),
      createTextsAndFormats(englishTexts, new Date(2026, 10, 20, hour).getTime()),
    );

  it.each([
    [local(20, 22), 'tonight after 22:00'],
    [local(20, 14), 'today after 14:00'],
    [local(22, 2), 'on Sunday after 02:00'],
    [local(30, 2), 'on 30 November after 02:00'],
  ])('states when an update at %s starts', (nextAt, words) => {
    expect(at(nextAt)).toBe(`v1.5.0 will be installed automatically ${words}.`);
  });

  it('states that an update within a minute starts as soon as nothing is blocking it', () => {
    const soon = 'v1.5.0 will be installed automatically as soon as nothing is blocking the update.';
    const startsIn = (seconds: number) => at(new Date(2026, 10, 20, 10, 0, seconds).toISOString());
    expect([startsIn(0), startsIn(59)]).toEqual([soon, soon]);
    expect(startsIn(60)).toBe('v1.5.0 will be installed automatically today after 10:01.');
  });

  it.each<[object | null, string]>([
    [null, ''],
    [automaticOf({ enabled: false }), ''],
    [
      kept({ code: 'major', message: 'v2.0.0 is a major version' }),
      'Not installed automatically: v2.0.0 is a major version.',
    ],
    [
      kept({ ...paused, since: '2026-03-14T12:00:00.000Z' }),
      'Automatic updates are paused because an update failed on 14 March. Automatic updates resume after a manual update succeeds.',
    ],
  ])('states why no update starts: %j', (automatic, text) => {
    expect(
      formatAutomaticUpdate(
        statusOf({ automatic: automatic as never }),
        createTextsAndFormats(englishTexts, now),
      ),
    ).toEqual(text);
  });
});

describe('the settings of automatic updates', () => {
  it.each([
    [automaticOf({ enabled: false }), 'Automatic updates are off.'],
    [
      automaticOf({ timeZone: 'Asia/Tokyo' }),
      'The next automatic update can start tomorrow after 11:00 (Asia/Tokyo).',
    ],
    // A browser may not support a time zone that the server supports.
    [
      automaticOf({ timeZone: 'Moon/Tycho' }),
      expect.stringMatching(/^The next automatic update can start \w+ after .* \(Moon\/Tycho\)\.$/),
    ],
  ])('show when the next update can start (%#)', (automatic, text) => {
    expect(formatAutomaticUpdateSettings(automatic, createTextsAndFormats(englishTexts, now))).toEqual(text);
  });

  it('convert days to hours and send only changed settings', () => {
    const { nextAt: _, blockedBy: __, minAgeHours: ___, ...set } = automaticOf();
    expect(savedSettingsOf(statusOf({ automatic: automaticOf() }))).toEqual({
      channel: 'stable',
      ...set,
      age: '3',
    });
    expect(savedSettingsOf(statusOf())).toEqual({ channel: 'stable' });
    expect(createAutomaticUpdatesBody({ channel: 'canary', from: '03:00' })).toEqual({ from: '03:00' });
    expect(createAutomaticUpdatesBody({ age: '1.5' })).toEqual({ minAgeHours: 36 });
    expect(createAutomaticUpdatesBody({ age: '' })).toEqual({ minAgeHours: 0 });
  });
});
