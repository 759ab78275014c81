import { describe, expect, it } from 'vitest';
import { withWorkers, workersOf } from '../../../src/agent/inspect/choose-workers.ts';
import type { RunContext } from '../../../src/agent/process/run-context.ts';
import type { Model } from '../../../src/engine/cli/compose.ts';
import { composeLabels } from '../../../src/engine/labels.ts';
import { productOf } from '../../../src/progress/product.ts';
import { engineThat, updateOptions } from '../../build-plan.ts';

const byRole = { 'svc.role': 'worker' };

/** The workers of a project whose containers, and their images, have these labels. */
async function found(
  services: Record<string, { labels?: Record<string, string>; image?: Record<string, string> }>,
  argv: string[] = [],
): Promise<{ workers: readonly string[]; asked: number }> {
  let asked = 0;
  const raw = Object.entries(services).map(([name, { labels = {}, image = {} }]) => ({
    Id: name,
    Image: `sha256:${name}`,
    Config: {
      Labels: {
        [composeLabels.project]: 'svc',
        [composeLabels.service]: name,
        [composeLabels.oneOff]: 'False',
        ...image,
        ...labels,
      } as Record<string, string>,
    },
  }));
  const engine = await engineThat((from, to) => {
    asked += 1;
    const url = new URL(decodeURIComponent(from.url ?? ''), 'http://engine');
    const [, kind, id = ''] = /^\/(containers|images)\/(.+)\/json$/.exec(url.pathname) ?? [];
    if (kind === 'containers') return to.end(JSON.stringify(raw.find(({ Id }) => Id === id)));
    if (kind === 'images') {
      const Labels = services[id.replace('sha256:', '')]?.image ?? {};
      return to.end(JSON.stringify({ Id: id, Config: { Labels } }));
    }
    const { label } = JSON.parse(url.searchParams.get('filters') ?? '') as { label: string[] };
    const fits = ({ Config }: (typeof raw)[number]) =>
      label.every((each) => Config.Labels[each.split('=')[0] ?? ''] === each.split('=')[1]);
    to.end(JSON.stringify(raw.filter(fits).map(({ Id, Config }) => ({ Id, Labels: Config.Labels }))));
  });
  const context = { engine, options: updateOptions(...argv) } as RunContext;
  const { workers } = (await withWorkers(context, 'svc')).options;
  return { workers, asked };
}

describe('the workers that containers tell of', () => {
  it.each<[string, Parameters<typeof found>[0], string[]]>([
    ['the one called so', { app: {}, worker: {} }, ['worker']],
    [
      'those with the label, in their order',
      { app: {}, worker: {}, b: { labels: byRole }, a: { labels: byRole } },
      ['a', 'b'],
    ],
    [
      'none by a label of the image',
      { app: { image: byRole }, worker: {}, db: { image: byRole } },
      ['worker'],
    ],
    ['not the app', { app: { labels: byRole }, jobs: { labels: byRole } }, ['jobs']],
    [
      'none of docker compose run',
      { app: {}, x: { labels: { ...byRole, [composeLabels.oneOff]: 'True' } } },
      ['worker'],
    ],
  ])('are %s', async (_, services, workers) => {
    expect((await found(services)).workers).toEqual(workers);
  });

  it('are not asked for where the operator names services', async () => {
    const named = await found({ app: {}, jobs: { labels: byRole } }, ['--service', 'app', '--service', 'a']);
    expect(named).toEqual({ workers: ['a'], asked: 0 });
  });
});

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
