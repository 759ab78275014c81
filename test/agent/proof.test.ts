import { describe, expect, it } from 'vitest';
import { prove } from '../../src/agent/proof.ts';
import type { Model } from '../../src/engine/compose.ts';

const model = (services: Model['services'], rest: object = {}): Model => ({ name: 'svc', services, ...rest });
const before = model({
  app: { image: 'svc:v1.0.0' },
  worker: { image: 'svc:v1.0.0' },
  db: { image: 'db:1' },
});
const planned = {
  images: new Map([
    ['app', 'svc:v1.1.0'],
    ['worker', 'svc:v1.1.0'],
  ]),
  substitutions: [],
};
const moved = { app: { image: 'svc:v1.1.0' }, worker: { image: 'svc:v1.1.0' }, db: { image: 'db:1' } };

describe('prove', () => {
  it('accepts exactly the planned images', () => {
    expect(prove(before, model(moved), planned)).toEqual({ unexpected: [], alsoMoved: [] });
  });

  it.each<[string, Model, string]>([
    [
      'a planned image that did not move',
      model({ ...moved, app: { image: 'svc:v1.0.0' } }),
      'services.app.image: svc:v1.0.0 instead of svc:v1.1.0',
    ],
    [
      'a planned image that moved elsewhere',
      model({ ...moved, app: { image: 'svc:v1.2.0' } }),
      'services.app.image: svc:v1.2.0 instead of svc:v1.1.0',
    ],
    ['another image', model({ ...moved, db: { image: 'db:2' } }), 'services.db.image: "db:1" → "db:2"'],
    [
      'another value',
      model({ ...moved, db: { image: 'db:1', network_mode: 'host' } }),
      'services.db.network_mode: nothing → "host"',
    ],
    ['a new service', model({ ...moved, x: { image: 'x' } }), 'services.x: nothing → {"image":"x"}'],
    ['a network', model(moved, { networks: { a: { name: 'a' } } }), 'networks: nothing → {"a":{"name":"a"}}'],
  ])('does not accept %s', (_, after, expected) => {
    expect(prove(before, after, planned).unexpected).toEqual([expected]);
  });

  it('accepts what comes from the version variable, and names other services that move with it', () => {
    const from = model({
      app: { image: 'svc:v1.0.0', environment: { VERSION: 'v1.0.0' } },
      other: { image: 'other:v1.0.0' },
    });
    const to = model({
      app: { image: 'svc:v1.1.0', environment: { VERSION: 'v1.1.0' } },
      other: { image: 'other:v1.1.0' },
    });
    const images = new Map([['app', 'svc:v1.1.0']]);
    const substitutions = [{ from: 'v1.0.0', to: 'v1.1.0' }];
    expect(prove(from, to, { images, substitutions })).toEqual({ unexpected: [], alsoMoved: ['other'] });
    // The same difference is not accepted where no variable changes.
    expect(prove(from, to, { images, substitutions: [] }).unexpected).toHaveLength(2);
  });

  it('accepts a variable that is set for the first time', () => {
    const from = model({ app: { image: 'svc:latest', environment: { VERSION: '' } } });
    const to = model({ app: { image: 'svc:canary', environment: { VERSION: 'canary' } } });
    const images = new Map([['app', 'svc:canary']]);
    expect(prove(from, to, { images, substitutions: [{ from: '', to: 'canary' }] }).unexpected).toEqual([]);
  });
});
