import { expect, it } from 'vitest';
import { rejectionOf } from '../../../src/engine/cli/rejection.ts';

const advice = (stderr: string) =>
  rejectionOf({ exitCode: 1, stdout: '', stderr, timedOut: false } as never).advice;

it.each([
  ['network proxy_front declared as external, but could not be found', 'docker network create proxy_front'],
  ['external volume "media" not found', 'docker volume create media'],
])('says how to make what is not there: %s', (message, command) => {
  expect(advice(message)).toContain(`(${command})`);
  // Which accepts the file as it is.
  expect(advice(message)).not.toContain('config');
});

it('gives advice for a compose that cannot merge an included service', () => {
  expect(advice('services.app conflicts with imported resource')).toMatch(
    /^This version of compose cannot merge .* Move its settings to compose\.override\.yaml, /,
  );
});
