import { expect, it } from 'vitest';
import {
  formatComposeCommand,
  formatShortComposeCommand,
  formatUpCommand,
} from '../../../src/core/command-line/compose-command.ts';

const project = { name: 'svc', directory: '/opt/svc', files: ['/opt/svc/prod.yml'], envFiles: [] };
const old = { ...project, oldNames: ['app'] };

it('adds the compatibility flag for old container names', () => {
  expect(formatComposeCommand({ ...project, oldNames: [] })).toBe('docker compose -p svc -f prod.yml');
  expect(formatComposeCommand(old)).toBe('docker compose --compatibility -p svc -f prod.yml');
});

it('formats the up command for all services or for the listed services', () => {
  expect(formatUpCommand(project)).toBe('docker compose -p svc -f prod.yml up -d');
  expect(formatUpCommand(project, ['mailer'])).toBe('docker compose -p svc -f prod.yml up -d mailer');
});

it.each<[string, string[], string[], string]>([
  ['the usual file', ['compose.yaml'], [], ''],
  ['a file of another name', ['svc.yaml'], [], ' -f svc.yaml'],
  [
    'all of it, in order',
    ['b.yaml', 'a.yaml'],
    ['../x.env', 'y.env'],
    ' -f b.yaml -f a.yaml --env-file ../x.env --env-file y.env',
  ],
])('formatComposeCommand adds only the options that compose needs: %s', (_, files, envFiles, flags) => {
  const path = (name: string) => new URL(name, 'file:///opt/svc/').pathname;
  const project = {
    name: 'acme',
    directory: '/opt/svc',
    files: files.map(path),
    envFiles: envFiles.map(path),
  };
  expect(formatComposeCommand(project)).toBe(`docker compose -p acme${flags}`);
});

it.each<[string, string, string]>([
  ['docker compose', 'compose.yaml', 'svc'],
  ['docker compose -p acme', 'compose.yaml', 'acme'],
  ['docker compose -p svc -f compose.prod.yaml', 'compose.prod.yaml', 'svc'],
])('shortens the command to %s for %s of project %s in /opt/svc', (command, file, name) => {
  const project = { name, directory: '/opt/svc', files: [`/opt/svc/${file}`], envFiles: [] };
  expect(formatShortComposeCommand(project)).toBe(command);
});
