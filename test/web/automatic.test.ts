import { describe, expect, it } from 'vitest';
import { choiceOf, settingsOf } from '../../src/web/model/settings.ts';
import { automaticText, byItselfText } from '../../src/web/views/automatic.ts';
import { automaticOf, statusOf } from './state.ts';

// A Friday. The texts are by the reader's clock, which is that of the tests.
const now = Date.parse('2026-11-20T10:00:00.000Z');
const kept = (blockedBy: object) => automaticOf({ nextAt: null, blockedBy: blockedBy as never });
const paused = { code: 'paused', message: 'the update to v1.5.0 failed and needs attention' };

describe('what starts by itself', () => {
  const local = (day: number, hour: number): string => new Date(2026, 10, day, hour).toISOString();
  const at = (nextAt: string, hour = 10) =>
    byItselfText(statusOf({ automatic: automaticOf({ nextAt }) }), new Date(2026, 10, 20, hour).getTime());

  it.each([
    [local(20, 22), 'tonight, after 22:00'],
    [local(20, 14), 'today, after 14:00'],
    [local(22, 2), 'on Sunday, after 02:00'],
    [local(30, 2), 'on 30 November, after 02:00'],
  ])('is said for %s', (nextAt, words) => {
    expect(at(nextAt)).toBe(`It updates to v1.5.0 by itself ${words}.`);
  });

  it.each<[object | null, string]>([
    [null, ''],
    [automaticOf({ enabled: false }), ''],
    [
      kept({ code: 'major', message: 'v2.0.0 is a major version' }),
      'It does not update by itself: v2.0.0 is a major version.',
    ],
    [
      kept({ ...paused, since: '2026-03-14T12:00:00.000Z' }),
      'Nothing happens by itself since the update of 14 March ended badly. That ends with an update that a person starts and that ends well.',
    ],
  ])('or why not: %j', (automatic, text) => {
    expect(byItselfText(statusOf({ automatic: automatic as never }), now)).toEqual(text);
  });
});

describe('the settings', () => {
  it.each([
    [automaticOf({ enabled: false }), 'Nothing is installed by itself.'],
    [automaticOf({ timeZone: 'Asia/Tokyo' }), 'The next one begins tomorrow, after 11:00 (Asia/Tokyo).'],
    // A browser may not know what the server does.
    [
      automaticOf({ timeZone: 'Moon/Tycho' }),
      expect.stringMatching(/^The next one begins \w+, after .* \(Moon\/Tycho\)\.$/),
    ],
  ])('say when the next one would begin (%#)', (automatic, text) => {
    expect(automaticText(automatic, now)).toEqual(text);
  });

  it('have days where the server counts hours, and send what was changed alone', () => {
    const { nextAt: _, blockedBy: __, minAgeHours: ___, ...set } = automaticOf();
    expect(settingsOf(statusOf({ automatic: automaticOf() }))).toEqual({
      channel: 'stable',
      ...set,
      age: '3',
    });
    expect(settingsOf(statusOf())).toEqual({ channel: 'stable' });
    expect(choiceOf({ channel: 'canary', from: '03:00' })).toEqual({ from: '03:00' });
    expect(choiceOf({ age: '1.5' })).toEqual({ minAgeHours: 36 });
    expect(choiceOf({ age: '' })).toEqual({ minAgeHours: 0 });
  });
});
