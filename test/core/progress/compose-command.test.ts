import { expect, it } from 'vitest';
import { composeCommand, upCommand } from '../../../src/core/progress/compose-command.ts';

const project = { name: 'svc', directory: '/opt/svc', files: ['/opt/svc/prod.yml'], envFiles: [] };
const old = { ...project, oldNames: ['app'] };

it('adds the compatibility flag for old container names', () => {
  expect(composeCommand({ ...project, oldNames: [] })).toBe('docker compose -p svc -f prod.yml');
  expect(composeCommand(old)).toBe('docker compose --compatibility -p svc -f prod.yml');
});

it('starts all services or the listed ones', () => {
  expect(upCommand(project)).toBe('docker compose -p svc -f prod.yml up -d');
  expect(upCommand(project, ['mailer'])).toBe('docker compose -p svc -f prod.yml up -d mailer');
});
