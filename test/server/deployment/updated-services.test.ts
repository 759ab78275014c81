import { describe, expect, it } from 'vitest';
import { createProduct, svcProduct } from '../../../src/core/names/product.ts';
import { composeLabels, swarmLabels } from '../../../src/engine/objects/labels.ts';
import type { Deployment } from '../../../src/server/deployment/read-deployment.ts';
import {
  chooseUpdatedServices,
  findSwarmWorkerServices,
} from '../../../src/server/deployment/updated-services.ts';
import { startAsked } from './engine.ts';

/** Services with the labels of their containers, and of the images of the same names. */
type Services = Record<string, { labels?: Record<string, string>; image?: Record<string, string> }>;

const byRole = { 'svc.role': 'worker' };
type Options = { app?: string; workers?: string[] };

async function engineOf(services: Services) {
  const listed = Object.entries(services).map(([name, { labels = {}, image = {} }]) => ({
    Id: name,
    ImageID: `sha256:${name}`,
    Labels: {
      [composeLabels.project]: 'svc',
      [composeLabels.service]: name,
      [composeLabels.oneOff]: 'False',
      ...image,
      ...labels,
    } as Record<string, string>,
  }));
  const { engine } = await startAsked((call, query) => {
    if (call === 'GET /containers/json') {
      const { label } = JSON.parse(query.get('filters') ?? '') as { label: string[] };
      const wanted = label.map((each) => each.split('='));
      const fits = ({ Labels }: (typeof listed)[number]) =>
        wanted.every(([key = '', value]) => Labels[key] === value);
      return { body: listed.filter(fits) };
    }
    const name = /^GET \/images\/sha256:(.+)\/json$/.exec(call)?.[1];
    return name && services[name]
      ? { body: { Id: 'x', Config: { Labels: services[name].image ?? {} } } }
      : undefined;
  });
  return engine;
}

describe('the services that are updated', () => {
  const usual = { app: {}, worker: {} };
  it.each<[string, Services, own: string, expected: string[] | null, options?: Options]>([
    ['are left to the updater for app and worker', usual, 'app', null],
    [
      'are left to the updater where a label says which workers',
      { app: {}, jobs: { labels: byRole } },
      'app',
      null,
    ],
    [
      'are those with the label, not the one called worker',
      { web: {}, worker: {}, mail: { labels: byRole }, jobs: { labels: byRole } },
      'web',
      ['web', 'jobs', 'mail'],
    ],
    [
      'are none for a label of the image, or a container of docker compose run',
      { web: { image: byRole }, mail: { labels: { ...byRole, [composeLabels.oneOff]: 'True' } } },
      'web',
      ['web'],
    ],
    ['are what the option says', usual, 'app', ['app', 'a', 'b'], { workers: ['a', 'b'] }],
    ['are left to the updater where the library lives in the worker', usual, 'worker', null, { app: 'app' }],
    [
      'have the own one where it lives in another',
      { app: {}, worker: {}, jobs: {} },
      'jobs',
      ['app', 'worker', 'jobs'],
      { app: 'app' },
    ],
    ['are not named twice', usual, 'app', ['app', 'worker'], { app: 'app', workers: ['app', 'worker'] }],
  ])('%s', async (_, services, own, expected, options = {}) => {
    const home = { project: 'svc', service: own } as Deployment;
    const settings = { app: null, workers: null, ...options, product: svcProduct };
    expect(await chooseUpdatedServices(await engineOf(services), home, settings)).toEqual(expected);
  });
});

describe("another product's services", () => {
  const larder = createProduct({ name: 'larder', services: ['web', 'jobs', 'mail'] });
  it.each<[string, Services, string, readonly string[] | null]>([
    ['are those that there are', { web: {}, mail: {} }, 'jobs', ['jobs', 'mail']],
    [
      'have its own label',
      { web: {}, cron: { labels: { 'larder.role': 'worker' } }, x: { labels: byRole } },
      'cron',
      ['cron'],
    ],
  ])('%s', async (_, services, own, expected) => {
    const home = { project: 'svc', service: own } as Deployment;
    const settings = { app: null, workers: null, product: larder };
    expect(await chooseUpdatedServices(await engineOf(services), home, settings)).toEqual(expected);
  });
});

it("finds the workers of the server's Swarm stack by label or name", async () => {
  const of = (stack: string, service: string, more = {}) => ({
    labels: { [swarmLabels.stack]: stack, [swarmLabels.service]: service, ...more },
  });
  const engine = await engineOf({
    a: of('svc', 'svc_app'),
    b: of('svc', 'svc_worker'),
    b2: of('svc', 'svc_worker'),
    c: of('svc', 'svc_jobs', byRole),
    d: of('svc', 'svc_db'),
    e: of('other', 'other_worker'),
  });
  const labels = { [swarmLabels.stack]: 'svc', [swarmLabels.service]: 'svc_app' };
  expect(await findSwarmWorkerServices(engine, labels, svcProduct)).toEqual(['svc_jobs', 'svc_worker']);
  expect(await findSwarmWorkerServices(engine, { [swarmLabels.service]: 'alone' }, svcProduct)).toEqual([]);
});
