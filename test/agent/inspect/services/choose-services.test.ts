import { describe, expect, it } from 'vitest';
import { profilesOf, workersOf } from '../../../../src/agent/inspect/services/choose-services.ts';
import type { Model } from '../../../../src/engine/cli/compose.ts';
import { productOf } from '../../../../src/progress/product.ts';
import { container } from '../../../build.ts';
import { updateOptions } from '../../../build-plan.ts';

const byRole = { 'svc.role': 'worker' };

describe('the workers that the files tell of', () => {
  const model = (services: Model['services']): Model => ({ name: 'svc', services });
  const options = (...workers: string[]) => ({ ...updateOptions(), workers });
  it.each<[string, Model['services'], string[], string[]]>([
    ['as the containers do', { app: {}, jobs: { labels: byRole } }, ['jobs'], ['jobs']],
    ['before the containers do', { app: {}, jobs: { labels: byRole }, worker: {} }, ['worker'], ['jobs']],
    ['but for one that they no longer have', { app: {}, jobs: { labels: byRole } }, ['worker'], ['jobs']],
    ['no more', { app: {}, jobs: { labels: {} }, worker: { labels: null } }, ['jobs'], ['worker']],
    [
      'besides one with a profile, of which compose does not tell',
      { app: {}, a: { labels: byRole } },
      ['b'],
      ['a', 'b'],
    ],
  ])('are told %s', (_, services, before, workers) => {
    expect(workersOf(model(services), options(...before))).toEqual(workers);
  });

  it.each<[string, Model['services'], string[]]>([
    ['its own label', { web: {}, jobs: {}, cron: { labels: { 'larder.role': 'worker' } } }, ['cron']],
    ['its own names, and not the label of svc', { web: {}, jobs: {}, cron: { labels: byRole } }, ['jobs']],
  ])('are of another product by %s', (_, services, workers) => {
    const product = productOf({ name: 'larder', services: ['web', 'jobs'] });
    expect(workersOf(model(services), { ...options('jobs'), product, app: 'web' })).toEqual(workers);
  });

  it('are the named ones where there are such', () => {
    const named = updateOptions('--service', 'app', '--service', 'a');
    expect(workersOf(model({ jobs: { labels: byRole } }), named)).toEqual(['a']);
  });
});

describe('the profiles of a project', () => {
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
    ['of no service', '', ['app-1'], []],
    ['of services with containers, stopped or not', '', ['app-1', 'db-1'], ['local', 'test']],
    [
      'with those that the flag replaces',
      'COMPOSE_PROFILES=other, more\n',
      ['worker-1'],
      ['jobs', 'more', 'other'],
    ],
    ['by the variable alone', 'COMPOSE_PROFILES=jobs\n', ['app-1', 'worker-1'], []],
    ['by the variable, as compose resolves it', `X=jobs\nCOMPOSE_PROFILES="\${X},a"\n`, ['worker-1'], []],
    ['by the star', 'COMPOSE_PROFILES=*\n', ['db-1'], []],
    ['of no service of the files', '', ['gone-1'], []],
  ])('gives profiles %s', (_, env, places, expected) => {
    const files = {
      composeFiles: [],
      envFiles: [{ path: '/opt/svc/.env', text: env }],
      newEnvFile: '/opt/svc/.env',
    };
    const containers = places.map((place) => container(place, { status: 'exited' }));
    expect(profilesOf(files, model, containers)).toEqual(expected);
  });
});
