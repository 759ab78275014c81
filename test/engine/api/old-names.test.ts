import { expect, it } from 'vitest';
import { oldNamesOf } from '../../../src/engine/api/old-names.ts';
import { composeLabels } from '../../../src/engine/labels.ts';
import { isOfComposeOne } from '../../../src/engine/old-name.ts';
import { container } from '../../build.ts';

const called = (place: string, name: string) => {
  const made = container(place);
  return { ...made, name, labels: { ...made.labels, [composeLabels.project]: 'my_svc' } };
};

it.each<[string, Record<string, string>, string[]]>([
  ["today's", { 'app-1': 'my_svc-app-1', 'worker-1': 'my_svc-worker-1' }, []],
  ['old', { 'app-1': 'my_svc_app_1', 'worker-1': 'my_svc_worker_1' }, ['app', 'worker']],
  ['each its own', { 'app-1': 'my_svc-app-1', 'db-1': 'my_svc_db_1' }, ['db']],
  ['one of its own beside old ones', { 'app-1': 'my-app', 'db-1': 'my_svc_db_1' }, ['app', 'db']],
  ["one of its own beside today's", { 'app-1': 'my_app', 'db-1': 'my_svc-db-1' }, []],
  ['not yet given', { 'app-1': '0123456789ab_my_svc_app_1' }, ['app']],
])('names are %s', (_, names, expected) => {
  expect(oldNamesOf(Object.entries(names).map(([place, name]) => called(place, name)))).toEqual(expected);
});

it.each([
  ['1.29.2', true],
  ['2.26.1-4', false],
  ['5.4.0', false],
  [undefined, false],
])('%s made it', (version, expected) => {
  expect(isOfComposeOne({ labels: version === undefined ? {} : { [composeLabels.version]: version } })).toBe(
    expected,
  );
});
