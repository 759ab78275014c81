import { expect, it } from 'vitest';
import {
  createContainerMaskRules,
  createEngineRequestMaskRules,
  createModelMaskRules,
} from '../../../../src/updater/run/log/mask-rules.ts';
import { container } from '../../../build.ts';

it('maskRulesOfModel includes the environment of every service and hook, and treats a key without a value as empty', () => {
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
  expect(createModelMaskRules({ name: 'svc', services }).secrets).toEqual([
    { key: 'A', value: 'one' },
    { key: 'B', value: '' },
    { key: 'A', value: 'two' },
    { key: 'D', value: 'four' },
    { key: 'E', value: '' },
  ]);
});

it('maskRulesOfContainers includes the environment of containers, except variables that images set', () => {
  const env = new Map([
    ['PATH', '/usr/bin'],
    ['HOME', '/root'],
    ['TOKEN', 'abc'],
    ['MY_PATH', '/x'],
  ]);
  const containers = [container('app-1', { env }), container('db-1', { env: new Map([['B', '2']]) })];
  expect(createContainerMaskRules(containers).secrets).toEqual([
    { key: 'TOKEN', value: 'abc' },
    { key: 'MY_PATH', value: '/x' },
    { key: 'B', value: '2' },
  ]);
});

it('maskRulesOfSent includes variables that compose would set in containers, except variables that images set', () => {
  const sent = [{ body: { Env: ['PATH=/usr/bin', 'TOKEN=a=b', 'NEW=in-an-env-file'] } }, { body: {} }];
  expect(createEngineRequestMaskRules(sent).secrets).toEqual([
    { key: 'TOKEN', value: 'a=b' },
    { key: 'NEW', value: 'in-an-env-file' },
  ]);
});
