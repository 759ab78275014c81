import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../../src/engine/cli/engine.ts';
import {
  addUntaggedReferences,
  findMountedImages,
  pullAddedImages,
  pullUpdatedImages,
  shouldVerifyImage,
} from '../../../../src/updater/compose/pull/pull-updated-images.ts';
import { runPullPhase } from '../../../../src/updater/compose/pull/run-pull-phase.ts';
import { Journal } from '../../../../src/updater/run/state/journal.ts';
import { image, journalData } from '../../../build.ts';
import {
  composeText,
  engineWith,
  installed,
  modelOf,
  planTo,
  projectFiles,
  runContext,
  updateOptions,
} from '../../../build-plan.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

afterEach(() => {
  for (const name of ['SIGINT', 'SIGTERM']) process.removeAllListeners(name);
});

const texts = { 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0', worker: 'acme/worker:v1.0.0' }) };
const digest = `sha256:${'d'.repeat(64)}`;
/** An engine with these images. The registry returns the same digest for every tag. */
const local = (...references: string[]): Promise<Engine> =>
  engineWith({
    ...Object.fromEntries(
      references.map((reference) => [`/images/${reference}/json?manifests=1`, { Id: `sha256:${reference}` }]),
    ),
    ...Object.fromEntries(
      references.map((reference) => [
        `/distribution/${reference.includes(':') ? reference : `${reference}:latest`}/json`,
        { Descriptor: { digest }, Platforms: [] },
      ]),
    ),
  });

/** Pulls v1.1.0, and returns the images and the log. The services in `kept` have pull_policy never. */
async function pullFor(kept: readonly string[], here: readonly string[]) {
  const more = Object.fromEntries(kept.map((name) => [name, { pull_policy: 'never' }]));
  const from = installed(texts, { model: modelOf(projectFiles(texts), more) });
  const { context: doors, lines } = runContext(await local(...here));
  // The deadline has passed: a pull fails immediately, with the references in its error.
  const images = await pullUpdatedImages(doors, planTo('v1.1.0', from), {
    ...{ deadline: 0, shouldKeepTags: false },
    journal: new Journal({ state: '/nonexistent', restore: async () => {} }, journalData()),
  }).then(
    (found) => [...found].map(([reference, { id }]) => [reference, id]),
    (error: Error) => error.message,
  );
  return { images, lines };
}

describe('pullUpdates', () => {
  const [app, worker] = ['acme/svc:v1.1.0', 'acme/worker:v1.1.0'];
  const left = (name: string, reference: string) =>
    `info: ${name} has pull_policy: never, so the local image ${reference} is used`;
  const late = (references: string) => `pulling ${references} took longer than allowed`;

  it.each<[string, string[], string[], unknown, string[]]>([
    [
      'takes what is local, where nothing is to be pulled',
      ['app', 'worker'],
      [app, worker],
      [
        [app, `sha256:${app}`],
        [worker, `sha256:${worker}`],
      ],
      [left('app', app), left('worker', worker)],
    ],
    [
      'fails where that is not there',
      ['app', 'worker'],
      [app],
      `${worker} is not on this machine`,
      [left('app', app), left('worker', worker)],
    ],
    ['pulls the others', ['app'], [app, worker], late(worker), [left('app', app)]],
  ])('%s', async (_, kept, here, images, lines) => {
    expect(await pullFor(kept, here)).toEqual({ images, lines });
  });
});

describe('pullAndPrepare', () => {
  const reference = 'acme/svc:v1.1.0';
  const journal = new Journal({ state: '/nonexistent', restore: async () => {} }, journalData());

  it.each([
    ['by its tag for an update, which may move it', [], journal, reference],
    [
      'by digest beside a restore point: until data is saved no tag moves',
      ['--restore-point'],
      journal,
      null,
    ],
    ['by digest for a fetch, which moves no tag', [], null, null],
  ])('pulls an image that is on this machine %s', async (_, argv, of, form) => {
    const from = installed({ 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0' }) });
    // The timeout has passed: the pull fails with the references in its error.
    const options = updateOptions(...argv);
    options.limits.pullTimeoutMs = 0;
    const { context } = runContext(await local(reference), options);
    const begun = { earlyModel: Promise.resolve(null), journal: of };
    await expect(runPullPhase(context, planTo('v1.1.0', from), begun)).rejects.toThrow(
      `pulling ${form ?? `acme/svc@${digest}`} took longer than allowed`,
    );
  });
});

it('finds the mounted images to pull: images of the release, and missing images', async () => {
  const [engine, plan] = [
    await local('acme/assets:v1.1.0', 'acme/tools:v1'),
    planTo('v1.1.0', installed(texts)),
  ];
  const mounts = ['acme/assets:v1.1.0', 'acme/tools:v1', 'other/fonts:v1.1.0'];
  const volumes = [
    { type: 'volume', source: 'data', target: '/data' },
    ...mounts.map((source) => ({ type: 'image', source, target: `/${source}` })),
  ];
  const model = { name: 'svc', services: { app: { volumes }, db: { volumes } } };
  expect([...(await findMountedImages(engine, model, ['app', 'worker'], plan.updates))]).toEqual([
    ['app.volume1', 'acme/assets:v1.1.0'],
    ['app.volume3', 'other/fonts:v1.1.0'],
  ]);
});

it.each([
  ['app.volume0', 'other/models:v1', false],
  ['app.volume0', 'acme/models:v1', false],
  ['app.volume0', 'acme/assets:v1.1.0', true],
  ['app', 'acme/svc:v1.1.0', true],
  ['cron', 'acme/svc:v1.1.0', false],
])('requires verification of the added image %s, %s: %s', (key, to, expected) => {
  expect(shouldVerifyImage(key, to, planTo('v1.1.0', installed(texts)).updates)).toBe(expected);
});

describe('pullAdded', () => {
  let state = '';
  beforeEach(async () => {
    state = await temporaryDirectory();
  });
  const noted = [{ reference: 'acme/svc:v1.1.0', imageId: 'sha256:0' }];
  const begun = () => new Journal({ state, restore: async () => {} }, journalData({ tags: noted }));

  const how = { deadline: 0, shouldKeepTags: false };
  const plan = planTo('v1.1.0', installed(texts));

  it('records the current image of each tag in the journal before it pulls', async () => {
    const journal = begun();
    const added = new Map([
      ['cron', 'acme/cron:v2'],
      ['app', 'acme/next:v1.1.0'],
    ]);
    const { context: doors } = runContext(await local('acme/cron:v2'));
    const pulled = pullAddedImages(doors, plan, added, { journal, ...how });
    await expect(pulled).rejects.toThrow('pulling acme/cron:v2, acme/next:v1.1.0 took longer than allowed');
    expect(journal.data.tags).toEqual([
      ...noted,
      { reference: 'acme/cron:v2', imageId: 'sha256:acme/cron:v2' },
    ]);
  });

  it('pulls a local image by digest while no tag may move, also if the reference has no tag', async () => {
    const added = new Map([
      ['cron', 'acme/cron:v2'],
      ['cache', 'redis'],
      ['new', 'acme/new:v1'],
      ['fixed', `acme/fixed@${digest}`],
    ]);
    const { context: doors } = runContext(await local('acme/cron:v2', 'redis'));
    const pulled = pullAddedImages(doors, plan, added, { journal: begun(), ...how, shouldKeepTags: true });
    await expect(pulled).rejects.toThrow(
      `pulling acme/cron@${digest}, redis@${digest}, acme/new:v1, acme/fixed@${digest} took longer than allowed`,
    );
  });
});

it.each([
  ['r.example:5000/svc', 'r.example:5000/svc:latest', true],
  ['acme/svc', 'acme/svc:v1.0.0', false],
  ['r.example:5000', 'r.example:5000/svc:latest', false],
])('addUntaggedReferences finds %s if %s was pulled: %s', (named, pulled, isHere) => {
  const here = image('sha256:one');
  const images = addUntaggedReferences(new Map([[pulled, here]]), [named]);
  expect(images.get(named)).toBe(isHere ? here : undefined);
  expect(images.get(pulled)).toBe(here);
});
