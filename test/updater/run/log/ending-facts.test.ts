import { expect, it } from 'vitest';
import { composeCommand } from '../../../../src/core/progress/compose-command.ts';
import { withOwnCommands } from '../../../../src/updater/run/log/ending-facts.ts';

it.each<[string, string[], string[], string]>([
  ['the usual file', ['compose.yaml'], [], ''],
  ['a file of another name', ['svc.yaml'], [], ' -f svc.yaml'],
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

const advice = 'Change it, then docker compose pull && docker compose up -d; docker compose rejects it now.';

it.each<[string, string, string, string[], string]>([
  [
    'nothing where compose finds it by itself',
    'svc',
    '/opt/svc',
    ['/opt/svc/compose.yaml'],
    'docker compose',
  ],
  [
    'the files',
    'svc',
    '/opt/svc',
    ['/opt/svc/compose.prod.yaml'],
    'docker compose -p svc -f compose.prod.yaml',
  ],
])('withOwnCommands adds %s', (_, name, directory, files, compose) => {
  expect(withOwnCommands(advice, { name, directory, files, envFiles: [] })).toBe(
    `Change it, then ${compose} pull && ${compose} up -d; docker compose rejects it now.`,
  );
});

it('withOwnCommands leaves commands that say the project alone, and a $ in a path as it is', () => {
  const project = { name: 'x', directory: '/opt/svc', files: ["/opt/svc/$&'.yaml"], envFiles: [] };
  const own = `${composeCommand(project)} up -d`;
  expect(withOwnCommands('docker compose up -d', project)).toBe(own);
  expect(withOwnCommands(own, project)).toBe(own);
});
