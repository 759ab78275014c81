import { describe, expect, it } from 'vitest';
import { inferProfiles } from '../../../../../src/updater/compose/inspect/services/choose-services.ts';
import { container } from '../../../../build.ts';

describe('profilesOf', () => {
  const model = {
    name: 'svc',
    services: {
      app: {},
      db: { profiles: ['local', 'test'] },
      worker: { profiles: ['jobs'] },
      idle: { profiles: ['idle'] },
    },
  };

  it.each<[string, string, string[], string[]]>([
    ['of services with containers, stopped or not', '', ['app-1', 'db-1'], ['local', 'test']],
    [
      'with those that the flag replaces',
      'COMPOSE_PROFILES=other, more\n',
      ['worker-1'],
      ['jobs', 'more', 'other'],
    ],
    ['by the variable alone', 'COMPOSE_PROFILES=jobs\n', ['app-1', 'worker-1'], []],
    ['by the star', 'COMPOSE_PROFILES=*\n', ['db-1'], []],
  ])('returns the profiles %s', (_, env, places, expected) => {
    const files = {
      composeFiles: [],
      envFiles: [{ path: '/opt/svc/.env', text: env }],
      newEnvFile: '/opt/svc/.env',
    };
    const containers = places.map((place) => container(place, { status: 'exited' }));
    expect(inferProfiles(files, model, containers)).toEqual(expected);
  });
});
