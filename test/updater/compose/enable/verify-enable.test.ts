import { describe, expect, it } from 'vitest';
import type { ComposeModel } from '../../../../src/engine/cli/compose.ts';
import { requireExpectedEnableChanges } from '../../../../src/updater/compose/enable/verify-enable.ts';

const before: ComposeModel = {
  name: 'larder',
  services: {
    app: { image: 'acme/larder:latest', environment: { A: 'b' } },
    worker: { image: 'acme/larder:latest' },
  },
};
const updates = { image: 'acme/larder-updates:v1.4.2' };
const after: ComposeModel = {
  name: 'larder',
  services: {
    app: { image: 'acme/larder:v1.4.2', environment: { A: 'b', UPDATES_SECRET: 'x' } },
    worker: { image: 'acme/larder:v1.4.2' },
    updates,
  },
  volumes: { updates: { name: 'larder_updates' } },
};
const expected = {
  app: 'app',
  undo: false,
  lines: [],
  hasSharedPin: (service: string) => service === 'learning',
  images: new Map([
    ['app', 'acme/larder:v1.4.2'],
    ['worker', 'acme/larder:v1.4.2'],
  ]),
};
const { app = {}, worker = {} } = after.services;
const withServices = (services: ComposeModel['services']) => ({
  ...after,
  services: { ...after.services, ...services },
});

describe('requireExpectedEnableChanges', () => {
  it('returns the services that change, the app first', () => {
    expect(requireExpectedEnableChanges(before, after, expected)).toEqual(['app', 'worker']);
    expect(requireExpectedEnableChanges(after, after, expected)).toEqual(['app']);
  });

  it('accepts a secret in an environment that did not exist', () => {
    const without = { ...before, services: { ...before.services, app: { image: 'acme/larder:latest' } } };
    const only = withServices({ app: { ...app, environment: { UPDATES_SECRET: 'x' } } });
    expect(requireExpectedEnableChanges(without, only, expected)).toEqual(['app', 'worker']);
  });

  it('accepts another service that shares the pin', () => {
    const learning = { image: 'acme/learning:latest' };
    const from = { ...before, services: { ...before.services, learning } };
    const to = withServices({ learning: { image: 'acme/learning:v1.4.2' } });
    expect(requireExpectedEnableChanges(from, to, expected)).toEqual(['app', 'worker', 'learning']);
  });

  it('returns the app if the service is removed', () => {
    const { app = {}, worker = {} } = after.services;
    const from = {
      ...after,
      services: { app: { ...app, environment: { UPDATES_SECRET: 'x' } }, worker, updates },
    };
    const to = { name: 'larder', services: { app: { image: 'acme/larder:v1.4.2' }, worker } };
    expect(requireExpectedEnableChanges(from, to, { ...expected, undo: true })).toEqual(['app']);
  });

  const lost = { ...after.services.app, environment: { A: 'b' } };
  it.each<[string, ComposeModel, boolean]>([
    ['without the secret', withServices({ app: lost }), false],
    ['without the volume', { ...after, volumes: {} }, false],
    ['with a volume of another project', { ...after, volumes: { updates: { external: true } } }, false],
    ['with the service, although it is removed', after, true],
  ])('refuses an edit %s', (_, model, undo) => {
    const from = undo ? after : { ...before, volumes: {} };
    expect(() => requireExpectedEnableChanges(from, model, { ...expected, undo })).toThrow(
      'not all lines of updates',
    );
  });

  it.each<[string, ComposeModel]>([
    [
      'services.worker.environment',
      withServices({ worker: { ...worker, environment: { UPDATES_SECRET: 'x' } } }),
    ],
    ['services.app.environment.A', withServices({ app: { ...app, environment: { UPDATES_SECRET: 'x' } } })],
    ['services.app.image', withServices({ app: { ...app, image: 'acme/larder:v2.0.0' } })],
    ['services.worker.environment', withServices({ worker: { ...worker, environment: { B: 'c' } } })],
    ['services.db', withServices({ db: { image: 'postgres:16' } })],
    ['volumes.data', { ...after, volumes: { ...after.volumes, data: null } }],
    ['networks', { ...after, networks: { default: { name: 'x' } } }],
  ])('refuses a change of %s', (path, model) => {
    const from = path === 'volumes.data' ? { ...before, volumes: { other: null } } : before;
    expect(() => requireExpectedEnableChanges(from, model, expected)).toThrow(path);
  });
});
