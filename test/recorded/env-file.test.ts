import { expect, it } from 'vitest';
import { type Answer, handPicked, ours, placeOf } from './env-file.ts';
import { Recording } from './recording.ts';

// Compares with recorded results of compose; test/slow/env-file.test.ts runs compose again.

it('env files and templates have the same values as in compose', () => {
  const recording = new Recording<Answer>('env-file');
  for (const question of handPicked) {
    const place = placeOf(question);
    expect(ours(question), place.join(': ')).toEqual(recording.answer(...place));
  }
});
