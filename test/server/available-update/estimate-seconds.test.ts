import { expect, it } from 'vitest';
import { estimateUpdateSeconds } from '../../../src/server/available-update/estimate-seconds.ts';
import { createRunWithDefaults } from '../../../src/wire/api-client/parse-responses.ts';
import type { Run, RunStep } from '../../../src/wire/status.ts';

const step = (state: RunStep['state'], from: number, to: number): RunStep => ({
  state,
  startedAt: new Date(from * 1000).toISOString(),
  endedAt: new Date(to * 1000).toISOString(),
  message: '',
});
/** A run that waited 500 s for jobs, and pulled images for `pull` seconds. */
const run = (pull: number, change: Partial<Run> = {}): Run =>
  createRunWithDefaults({
    id: `${pull}`,
    state: 'updated',
    outcome: 'updated',
    steps: [step('waiting', 0, 500), step('pull', 500, 500 + pull), step('verify', 600, 607)],
    ...change,
  });

it.each<[string, Run[], number | null, number | null]>([
  ['no run', [], null, null],
  ['one', [run(20)], 27, 7],
  ['the middle one of the last three', [run(20), run(90), run(30), run(1)], 37, 7],
  ['none that did not end well', [run(20, { outcome: 'failed' }), run(10, { kind: 'rollback' })], null, null],
])('estimates the duration of an update from past runs: %s', (_, past, seconds, ready) => {
  expect([
    estimateUpdateSeconds(past, { isReady: false }),
    estimateUpdateSeconds(past, { isReady: true }),
  ]).toEqual([seconds, ready]);
});
