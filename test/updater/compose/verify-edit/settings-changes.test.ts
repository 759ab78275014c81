import { describe, expect, it } from 'vitest';
import type { ComposeModel } from '../../../../src/engine/cli/compose.ts';
import { requireExpectedSettingChanges } from '../../../../src/updater/compose/verify-edit/compare-models.ts';

const before = {
  name: 'svc',
  'x-env': { A: '' },
  services: { app: { image: 'svc:v1', environment: { A: '' }, 'x-more': '' }, db: { image: 'db:1' } },
  secrets: { token: { content: '' } },
  configs: { ini: { content: '' } },
} as ComposeModel;
const prove = (after: object) =>
  requireExpectedSettingChanges(before, { ...before, ...after } as ComposeModel);
const app = (more: object) => ({
  services: { ...before.services, app: { ...before.services.app, ...more } },
});

describe('checkSettingsChanges', () => {
  it.each([
    ['environment variables', app({ environment: { A: 'x', B: 'y' } })],
    [
      'the first variables of another service',
      { services: { ...before.services, db: { image: 'db:1', environment: { A: 'x' } } } },
    ],
    ['a secret', { secrets: { token: { content: 'x' } } }],
    ['a config', { configs: { ini: { content: 'x' } } }],
    ['extensions', { 'x-env': { A: 'x' }, ...app({ 'x-more': 'x' }) }],
  ])('accepts %s', (_, after) => {
    expect(prove(after)).toBeUndefined();
  });

  it.each([
    ['an image', app({ image: 'svc:v2' }), 'services.app.image'],
    ['a command', app({ command: ['sh', '-c', 'hunter22'] }), 'services.app.command'],
    ['a port', app({ ports: [{ published: '80' }] }), 'services.app.ports'],
    ['a mount', app({ volumes: [{ source: '/' }] }), 'services.app.volumes'],
    [
      'the file of a secret',
      { secrets: { token: { content: '', file: '/etc/shadow' } } },
      'secrets.token.file',
    ],
    ['a label', app({ labels: { environment: 'x' } }), 'services.app.labels'],
    ['a network', { networks: { environment: { name: 'x' } } }, 'networks'],
    [
      'another service',
      { services: { ...before.services, environment: { image: 'x' } } },
      'services.environment',
    ],
  ])('refuses a change of %s, without printing its value', (_, after, detail) => {
    expect(() => prove(after)).toThrow(expect.objectContaining({ code: 'proof-failed', detail: [detail] }));
  });
});
