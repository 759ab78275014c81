import { expect, it } from 'vitest';
import { secretsOfContainers, secretsOfFiles, secretsOfModel } from '../../../src/agent/log/secrets.ts';
import { container } from '../../build.ts';

it.each<[string, string[], [string, string][]]>([
  [
    'all of each file',
    ['A=1\nB=two words\n', 'A=2'],
    [
      ['A', '1'],
      ['B', 'two words'],
      ['A', '2'],
    ],
  ],
  [
    'what is quoted, over several lines',
    ['KEY="-----BEGIN\nabc"\nB=\'$x\''],
    [
      ['KEY', '-----BEGIN\nabc'],
      ['B', '$x'],
    ],
  ],
  [
    'what compose would reject beside',
    ['no name here\nPASSWORD=hunter2 # mine\nB=1'],
    [
      ['PASSWORD', 'hunter2'],
      ['B', '1'],
    ],
  ],
  ['nothing', [''], []],
])('secretsOfFiles finds %s', (_, texts, expected) => {
  const files = texts.map((text) => ({ path: '/opt/svc/.env', text }));
  expect(secretsOfFiles(files).map(({ key, value }) => [key, value])).toEqual(expected);
});

it('secretsOfModel takes the environment of every service, and a key without a value as empty', () => {
  const services = {
    app: { environment: { A: 'one', B: null } },
    db: { environment: { A: 'two' } },
    proxy: {},
    cache: { environment: null },
  };
  expect(secretsOfModel({ name: 'svc', services })).toEqual([
    { key: 'A', value: 'one' },
    { key: 'B', value: '' },
    { key: 'A', value: 'two' },
  ]);
});

it('secretsOfContainers takes what a shell may have set, and not what images set', () => {
  const env = new Map([
    ['PATH', '/usr/bin'],
    ['HOME', '/root'],
    ['TOKEN', 'abc'],
    ['MY_PATH', '/x'],
  ]);
  const containers = [container('app-1', { env }), container('db-1', { env: new Map([['B', '2']]) })];
  expect(secretsOfContainers(containers)).toEqual([
    { key: 'TOKEN', value: 'abc' },
    { key: 'MY_PATH', value: '/x' },
    { key: 'B', value: '2' },
  ]);
});
