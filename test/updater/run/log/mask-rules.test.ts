import { expect, it } from 'vitest';
import {
  maskRulesOfContainers,
  maskRulesOfModel,
  maskRulesOfSent,
} from '../../../../src/updater/run/log/mask-rules.ts';
import { container } from '../../../build.ts';

it('maskRulesOfModel takes the environment of every service and hook, and a key without a value as empty', () => {
  const services = {
    app: { environment: { A: 'one', B: null } },
    db: { environment: { A: 'two' } },
    proxy: {},
    cache: { environment: null },
    worker: {
      pre_start: [{ environment: { D: 'four' } }],
      post_start: [{ environment: { E: null } }],
      pre_stop: [{}],
    },
  };
  expect(maskRulesOfModel({ name: 'svc', services }).secrets).toEqual([
    { key: 'A', value: 'one' },
    { key: 'B', value: '' },
    { key: 'A', value: 'two' },
    { key: 'D', value: 'four' },
    { key: 'E', value: '' },
  ]);
});

it('maskRulesOfContainers takes what a shell may have set, and not what images set', () => {
  const env = new Map([
    ['PATH', '/usr/bin'],
    ['HOME', '/root'],
    ['TOKEN', 'abc'],
    ['MY_PATH', '/x'],
  ]);
  const containers = [container('app-1', { env }), container('db-1', { env: new Map([['B', '2']]) })];
  expect(maskRulesOfContainers(containers).secrets).toEqual([
    { key: 'TOKEN', value: 'abc' },
    { key: 'MY_PATH', value: '/x' },
    { key: 'B', value: '2' },
  ]);
});

it('maskRulesOfSent takes what compose would set in containers, and not what images set', () => {
  const sent = [{ body: { Env: ['PATH=/usr/bin', 'TOKEN=a=b', 'NEW=in-an-env-file'] } }, { body: {} }];
  expect(maskRulesOfSent(sent).secrets).toEqual([
    { key: 'TOKEN', value: 'a=b' },
    { key: 'NEW', value: 'in-an-env-file' },
  ]);
});
