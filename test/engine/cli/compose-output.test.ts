import { expect, it } from 'vitest';
import { composeMessages } from '../../../src/engine/cli/compose-output.ts';

const event = (fields: object) => JSON.stringify(fields);

it('leaves progress out and says an error once', () => {
  expect(
    composeMessages(
      [
        event({ id: 'app', text: 'Pulling' }),
        event({ id: 'app', text: 'Error', status: 'manifest for svc:v9 not found: manifest unknown' }),
        event({
          error: true,
          message: 'Error response from daemon: manifest for svc:v9 not found: manifest unknown',
        }),
      ].join('\n'),
    ),
  ).toEqual(['Error response from daemon: manifest for svc:v9 not found: manifest unknown']);
});

it('keeps the errors of several services', () => {
  expect(
    composeMessages(
      [
        event({ id: 'app', text: 'Error', status: 'denied' }),
        event({ id: 'worker', text: 'Error', status: 'not found' }),
        event({ error: true, message: 'denied' }),
      ].join('\n'),
    ),
  ).toEqual(['worker not found', 'denied']);
});

it('reads the error events of compose 5', () => {
  expect(
    composeMessages(event({ id: 'Image svc:v9', status: 'Error', text: 'Error', details: 'no such tag' })),
  ).toEqual(['Image svc:v9 no such tag']);
});

it('reads the lines of its logger and plain ones', () => {
  expect(
    composeMessages(
      'time="2026-11-21T10:00:00Z" level=warning msg="The \\"X\\" variable is not set. Defaulting to a blank string."\nyaml: line 3: mapping values are not allowed\n\n{"id":',
    ),
  ).toEqual([
    'The "X" variable is not set. Defaulting to a blank string.',
    'yaml: line 3: mapping values are not allowed',
    '{"id":',
  ]);
});
