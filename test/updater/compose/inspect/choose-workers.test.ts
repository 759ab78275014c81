import { describe, expect, it } from 'vitest';
import { createProduct } from '../../../../src/core/names/product.ts';
import type { ComposeModel } from '../../../../src/engine/cli/compose.ts';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import { addLabeledWorkers, workersOf } from '../../../../src/updater/compose/inspect/choose-workers.ts';
import type { RunContext } from '../../../../src/updater/run/run-context.ts';
import { engineWith, updateOptions } from '../../../build-plan.ts';

const byRole = { 'svc.role': 'worker' };

/** The workers if the engine lists these containers by label; `image` means that only the image has the label. */
async function found(listed: Record<string, 'own' | 'image'>, ...argv: string[]): Promise<readonly string[]> {
  const { project, oneOff, service } = composeLabels;
  const filters = JSON.stringify({ label: [`${project}=svc`, `${oneOff}=False`, 'svc.role=worker'] });
  const of = (name: string) => `sha256:${name}`;
  const containers = Object.entries(listed).flatMap(([Id, from]) => [
    [`/containers/${Id}/json`, { Id, Image: of(Id), Config: { Labels: { [service]: Id } } }],
    [
      `/images/${of(Id)}/json?manifests=1`,
      { Id: of(Id), Config: { Labels: from === 'image' ? byRole : {} } },
    ],
  ]);
  const engine = await engineWith({
    [`/containers/json?all=1&filters=${filters}`]: Object.keys(listed).map((Id) => ({ Id, Labels: {} })),
    ...Object.fromEntries(containers),
  });
  const context = { engine, options: updateOptions(...argv) } as RunContext;
  return (await addLabeledWorkers(context, 'svc')).options.workers;
}

describe('the workers found by container labels', () => {
  it.each<[string, Parameters<typeof found>[0], string[]]>([
    ['the one called so', {}, ['worker']],
    ['those with the label, in their order', { b: 'own', a: 'own' }, ['a', 'b']],
    ['none by a label of the image', { app: 'image', db: 'image' }, ['worker']],
    ['not the app', { app: 'own', jobs: 'own' }, ['jobs']],
  ])('are %s', async (_, listed, workers) => {
    expect(await found(listed)).toEqual(workers);
  });

  it('are the services of --service if the option is set', async () => {
    expect(await found({ jobs: 'own' }, '--service', 'app', '--service', 'a')).toEqual(['a']);
  });
});

describe('the workers found in compose files', () => {
  const model = (services: ComposeModel['services']): ComposeModel => ({ name: 'svc', services });
  const options = (...workers: string[]) => ({ ...updateOptions(), workers });
  it.each<[string, ComposeModel['services'], string[], string[]]>([
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
  ])('are used %s', (_, services, before, workers) => {
    expect(workersOf(model(services), options(...before))).toEqual(workers);
  });

  it.each<[string, ComposeModel['services'], string[]]>([
    ['its own label', { web: {}, jobs: {}, cron: { labels: { 'larder.role': 'worker' } } }, ['cron']],
    ['its own names, and not the label of svc', { web: {}, jobs: {}, cron: { labels: byRole } }, ['jobs']],
  ])('are found for another product by %s', (_, services, workers) => {
    const product = createProduct({ name: 'larder', services: ['web', 'jobs'] });
    expect(workersOf(model(services), { ...options('jobs'), product, app: 'web' })).toEqual(workers);
  });

  it('are the services of --service if the option is set', () => {
    const named = updateOptions('--service', 'app', '--service', 'a');
    expect(workersOf(model({ jobs: { labels: byRole } }), named)).toEqual(['a']);
  });
});
