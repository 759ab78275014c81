import { afterEach, expect, it, vi } from 'vitest';
import { CancelledError } from '../../../../src/core/cancellation/cancelled.ts';
import { UpdateError } from '../../../../src/core/errors/update-error.ts';
import { tryPlanUpdate } from '../../../../src/updater/compose/plan/plan-update.ts';
import { BackgroundPull } from '../../../../src/updater/compose/pull/background-pull.ts';
import { deferRejection } from '../../../../src/updater/run/defer-rejection.ts';
import {
  composeText,
  engineThat,
  installed,
  modelOf,
  projectFiles,
  rememberingLog,
  runContext,
  target,
} from '../../../build-plan.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  for (const name of ['SIGINT', 'SIGTERM']) process.removeAllListeners(name);
});

interface Case {
  pins?: readonly [app: string, worker: string];
  here?: readonly string[];
  never?: readonly string[];
  to?: string | null;
  running?: string;
  restorePoint?: boolean;
  signal?: AbortSignal;
  release?: string;
  /** Collects the request paths of removed images. */
  removed?: string[];
}

const next = ['acme/svc:v1.1.0', 'acme/worker:v1.1.0'];

it.each<[situation: string, given: Case, pulled: readonly string[]]>([
  ['a new release', {}, next],
  ['one of which an image is here, whose tag may move', { here: next.slice(0, 1) }, []],
  ['one of which an image is left to what is local', { never: ['worker'] }, []],
  ['a tag that stays where it is', { pins: ['acme/svc:latest', 'acme/worker:latest'] }, []],
  ['an older release than runs', { running: '1.2.0' }, []],
  ['one beside a restore point, which needs room', { restorePoint: true }, []],
])('decides whether to pull before the plan is made: %s', async (_, given, pulled) => {
  const early = await begun(given);
  expect([...(await early.references())]).toEqual(pulled);
  await early.cancel();
});

it('pulls nothing that does not fit on the disk', async () => {
  const early = await begun({}, deferRejection(Promise.reject(new UpdateError('no-space', 'full'))));
  const wanted = new Map([
    ['app', next[0] ?? ''],
    ['worker', next[1] ?? ''],
  ]);
  await expect(early.awaitImages(wanted, rememberingLog().log)).rejects.toMatchObject({ code: 'no-space' });
});

it('does not fail when the run is cancelled, and removes the tags of images that were not verified', async () => {
  const stop = new AbortController();
  const removed: string[] = [];
  const early = await begun({ signal: stop.signal, release: '/release.json', removed });
  await early.references();
  stop.abort(new CancelledError());
  await early.cancel();
  expect(removed).toEqual(next.map((each) => `/images/${each}`));
});

it('stops if it was cancelled before the local images were known', async () => {
  const early = await begun({ signal: AbortSignal.abort(new CancelledError()), release: '/release.json' });
  await early.cancel();
});

async function begun(given: Case, fits: Promise<void> = Promise.resolve()): Promise<BackgroundPull> {
  // Without docker in PATH, each pull fails, and the early pull returns the error.
  vi.stubEnv('PATH', '/nonexistent');
  const { pins = ['acme/svc:v1.0.0', 'acme/worker:v1.0.0'], here = [], never = [], to = 'v1.1.0' } = given;
  const texts = { 'compose.yaml': composeText({ app: pins[0], worker: pins[1] }) };
  const more = Object.fromEntries(never.map((name) => [name, { pull_policy: 'never' }]));
  const engine = await engineThat((from, to) => {
    const path = decodeURIComponent(from.url ?? '');
    if (from.method === 'DELETE') given.removed?.push(path);
    const image = here.find((each) => path === `/images/${each}/json?manifests=1`);
    if (image) to.end(JSON.stringify({ Id: `sha256:${image}` }));
    else to.writeHead(404).end('{"message":"no such thing"}');
  });
  const { context } = runContext(given.signal ? engine.until(given.signal) : engine);
  const data = { ...context.options.data, restorePoint: given.restorePoint ?? false };
  const proof = { ...context.options.proof, release: given.release ?? null };
  const options = { ...context.options, target: target(to), data, proof };
  const early = new BackgroundPull({ ...context, options });
  const project = installed(texts, {
    model: modelOf(projectFiles(texts), more),
    ...(given.running && { runningVersion: given.running }),
  });
  early.begin(project, tryPlanUpdate(project, options)?.updates ?? [], fits);
  return early;
}
