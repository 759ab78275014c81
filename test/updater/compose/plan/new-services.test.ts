import { describe, expect, it } from 'vitest';
import type { UpdateError } from '../../../../src/core/errors/update-error.ts';
import type { ComposeService } from '../../../../src/engine/cli/compose.ts';
import {
  describeNewService,
  findMissingDependencies,
  requireExistingDependencies,
} from '../../../../src/updater/compose/plan/new-services.ts';
import { container } from '../../../build.ts';
import { composeText, generated, installed } from '../../../build-plan.ts';

const images = { app: 'acme/svc:v1.0.0', db: 'postgres:17' };
const app = { app: [container('app-1')] };
const started = { services: app, containers: [container('app-1'), container('db-1')] };
type Services = Record<string, ComposeService>;
type Dependency = { condition?: string; required?: boolean };

/** A model whose app depends on `db` and these services. */
const model = (needs: Record<string, Dependency>, services: Services = {}) => ({
  name: 'svc',
  services: {
    app: {
      image: 'acme/svc:v1.1.0',
      depends_on: { db: {}, ...needs },
      volumes: [{ type: 'bind', source: '/data', target: '/data' }],
    },
    db: { image: 'postgres:17' },
    cache: { image: 'redis:8' },
    ...services,
  } as Services,
});

describe('findMissingServices', () => {
  it.each<[string, Record<string, Dependency>, Services, readonly string[], string[]]>([
    ['needs a new service', { cache: {} }, {}, [], ['cache']],
    ['does not need it', {}, {}, [], []],
    ['needs one that has no replicas', { cache: {} }, { cache: { deploy: { replicas: 0 } } }, [], []],
    ['needs one that is scaled to zero', { cache: {} }, { cache: { scale: 0 } }, [], []],
    ['needs one of a provider', { cache: {} }, { cache: { provider: { type: 'tunnel' } } }, [], []],
    ['has only an optional dependency', { cache: { required: false } }, {}, [], []],
    ['is to run without it', { cache: {} }, {}, ['cache'], []],
    [
      'needs one through another',
      { front: {} },
      { front: { depends_on: { cache: {}, db: {} } } },
      [],
      ['front', 'cache'],
    ],
  ])('lists the services without containers if the app %s', (_, needs, services, exclude, names) => {
    const from = installed({ 'compose.yaml': generated(images) }, { ...started, exclude });
    expect(findMissingDependencies(from, model(needs, services))).toEqual(names);
  });
});

describe('describeAdded', () => {
  it.each<[string, ComposeService, object]>([
    ['another publisher', { image: 'redis:8', scale: 2 }, { replicas: 2, isSeparate: true }],
    ["the app's publisher", { image: 'acme/search:v1.1.0' }, { replicas: 1, isSeparate: false }],
    [
      'another publisher, with data of the app',
      {
        image: 'redis:8',
        deploy: { replicas: 3 },
        volumes: [{ type: 'bind', source: '/data', target: '/d' }],
      },
      { replicas: 3, isSeparate: false },
    ],
  ])('returns the replicas and whether the start can be undone, for %s', (_, cache, added) => {
    const from = installed({ 'compose.yaml': generated(images) }, { ...started, model: model({}) });
    const plan = { installation: from, model: model({ cache: {} }, { cache }) };
    expect(describeNewService('cache', plan)).toEqual(added);
  });
});

describe('requireExistingDependencies', () => {
  const refusal = (
    needs: Record<string, Dependency>,
    text = composeText(images),
    containers = started.containers,
  ) => {
    const kind = text.startsWith('# svc:generated') ? 'generated' : 'user-written';
    const from = installed(
      { 'compose.yaml': text },
      { services: app, containers, model: model(needs), kind },
    );
    try {
      requireExistingDependencies(from);
      return null;
    } catch (error) {
      const { code, message, advice } = error as UpdateError;
      return [code, message, advice];
    }
  };

  it('suggests the command that starts the service', () => {
    expect(refusal({ cache: {} })).toEqual([
      'missing-service',
      'the updated services depend on cache, but cache has no container',
      'Run docker compose -p svc up -d cache first. Then run {command} again.',
    ]);
  });

  it('accepts one-time services, instances without any container of a dependency, and generated files', () => {
    expect(refusal({ cache: { condition: 'service_completed_successfully' } })).toBeNull();
    expect(refusal({ cache: {} }, composeText(images), [container('app-1')])).toBeNull();
    expect(refusal({ cache: {} }, generated(images))).toBeNull();
  });
});
