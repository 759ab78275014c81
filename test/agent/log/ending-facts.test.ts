import { expect, it } from 'vitest';
import { composeCommand } from '../../../src/agent/log/ending-facts.ts';

it.each<[string, string[], string[], string]>([
  ['the usual file', ['compose.yaml'], [], ''],
  ['the usual file and its override', ['compose.yaml', 'compose.override.yaml'], [], ''],
  ['other spellings of them', ['docker-compose.yml', 'docker-compose.override.yml'], [], ''],
  ['an override alone', ['compose.override.yaml'], [], ' -f compose.override.yaml'],
  ['two usual files', ['compose.yaml', 'docker-compose.yml'], [], ' -f compose.yaml -f docker-compose.yml'],
  [
    'the override first',
    ['compose.override.yaml', 'compose.yaml'],
    [],
    ' -f compose.override.yaml -f compose.yaml',
  ],
  ['a file of another name', ['svc.yaml'], [], ' -f svc.yaml'],
  ['a file more', ['compose.yaml', 'compose.cluster.yaml'], [], ' -f compose.yaml -f compose.cluster.yaml'],
  ['a usual name with more to it', ['my-compose.yaml'], [], ' -f my-compose.yaml'],
  ['a usual name with more behind it', ['compose.yaml.json'], [], ' -f compose.yaml.json'],
  ['a file below', ['deploy/compose.yaml'], [], ' -f deploy/compose.yaml'],
  ['a file elsewhere', ['../shared/compose.yaml'], [], ' -f ../shared/compose.yaml'],
  ['an env file', ['compose.yaml'], ['.env'], ' --env-file .env'],
  [
    'all of it, in order',
    ['b.yaml', 'a.yaml'],
    ['../x.env', 'y.env'],
    ' -f b.yaml -f a.yaml --env-file ../x.env --env-file y.env',
  ],
])('composeCommand names %s where compose would not find it', (_, files, envFiles, flags) => {
  const path = (name: string) => new URL(name, 'file:///opt/svc/').pathname;
  const project = {
    name: 'acme',
    directory: '/opt/svc',
    files: files.map(path),
    envFiles: envFiles.map(path),
  };
  expect(composeCommand(project)).toBe(`docker compose -p acme${flags}`);
});
