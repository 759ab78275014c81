import { expect, it } from 'vitest';
import { type Answer, handPicked, ours, placeOf } from './env-file.ts';
import { Recording } from './recording.ts';

// By what compose answered: test/slow/env-file.test.ts asks it again.

it('an env file and a template mean to us what they mean to compose', () => {
  const recording = new Recording<Answer>('env-file');
  for (const question of handPicked) {
    const place = placeOf(question);
    expect(ours(question), place.join(': ')).toEqual(recording.answer(...place));
  }
});
