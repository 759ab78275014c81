import { describe, expect, it } from 'vitest';
import { createProduct, type Product } from '../../../src/core/names/product.ts';
import { versionLabel } from '../../../src/engine/objects/labels.ts';
import { runningAppOf } from '../../../src/updater/compose/plan/plan-update.ts';
import { checkRequiredRelease } from '../../../src/updater/plan/check-required-release.ts';
import { container, image } from '../../build.ts';
import { composeText, installed, planTo } from '../../build-plan.ts';

interface Case {
  /** Text of the image in the compose file. */
  pin?: string;
  /** The reference from which the app's container was created, and the version label of its image. */
  runs?: string;
  label?: string;
  /** The reference of the worker's container. */
  worker?: string;
  target?: string | null;
  /** Labels of the pulled image of the app. */
  requires?: string;
  version?: string;
  labels?: Record<string, string>;
  /** By default svc. */
  product?: Product;
  /** The app's container already runs the pulled image. */
  same?: boolean;
  /** The engine does not return the configuration of the image. */
  untold?: boolean;
}

function check(given: Case): string[] {
  const { pin = 'svc:v1.4.2', runs = 'svc:v1.4.2', target = 'v2.0.0', product } = given;
  const app = container('app-1', {
    imageReference: runs,
    labels: given.label === undefined ? {} : { [versionLabel]: given.label },
    ...(given.same && { imageId: 'sha256:new' }),
  });
  const worker = container('worker-1', { imageReference: given.worker ?? runs });
  const install = installed(
    { 'compose.yaml': composeText({ app: pin, worker: pin }) },
    { services: { app: [app], worker: [worker] }, runningVersion: null, ...(product && { product }) },
  );
  const plan = planTo(target, install);
  const pulled = image('sha256:new', {
    ...(given.untold && { config: null }),
    labels: {
      ...given.labels,
      ...(given.requires === undefined ? {} : { 'svc.release-requires': given.requires }),
      ...(given.version === undefined ? {} : { [versionLabel]: given.version }),
    },
  });
  return checkRequiredRelease(plan, pulled, runningAppOf(install, pulled));
}

const larder = createProduct({ name: 'larder', labelPrefix: 'org.larder' });
const pinned = 'Run the update with --target v1.5.0 first, then run it again';

it('reads the required intermediate release from the label of another product', () => {
  const labels = { 'org.larder.release-requires': 'v1.5.0' };
  expect(() => check({ product: larder, labels })).toThrow('v1.5.0 must be installed before ');
});

it('warns that the required release is unknown for an image for another platform without readable labels', () => {
  const warning =
    /^svc:v2\.0\.0 was built for another platform, so its labels cannot be read; it is unknown whether another /;
  expect(check({ untold: true })).toEqual([expect.stringMatching(warning)]);
  expect(check({ untold: true, same: true })).toEqual([]);
});

describe('checkRequiredRelease', () => {
  it.each<[string, Case]>([
    ['requires no release', {}],
    ['requires it for another product', { requires: 'v1.5.0', product: larder }],
    ['can be installed over the running version', { requires: 'v1.4.2' }],
    [
      'is already running, with an unknown version',
      { requires: 'v1.5.0', pin: 'svc:latest', runs: 'svc:latest', target: null, same: true },
    ],
  ])('allows an image that %s', (_, given) => {
    expect(check(given)).toEqual([]);
  });

  it.each<[string, Case, string, string]>([
    ['a release', { requires: 'v1.5.0' }, 'v1.4.2', `${pinned} with --target v2.0.0.`],
    [
      'an old app beside a worker that is ahead',
      { requires: 'v1.5.0', worker: 'svc:v1.6.0' },
      'v1.4.2',
      `${pinned} with --target v2.0.0.`,
    ],
    [
      'latest, which no target moves',
      { requires: 'v1.5.0', pin: 'svc:latest', runs: 'svc:latest', label: '1.5.0-canary.9', target: null },
      'v1.5.0-canary.9',
      'Manually set the tag to v1.5.0 (image of app in compose.yaml line 3, image of worker in compose.yaml line 5), then run the update with --target v1.5.0. After that, set the tag back to latest and run the update without --target.',
    ],
  ])('rejects %s, with the commands to run', (_, given, runs, advice) => {
    expect(() => check(given)).toThrow(
      expect.objectContaining({
        code: 'upgrade-step',
        outcome: 'refused',
        requiredRelease: 'v1.5.0',
        message: expect.stringMatching(
          `^v1.5.0 must be installed before .*, but the running version is ${runs}$`,
        ),
        advice,
      }),
    );
  });

  it('rejects a release that requires itself as an error of its publisher', () => {
    expect(() => check({ requires: 'v2.0.0', version: '2.0.0' })).toThrow(
      expect.objectContaining({
        code: 'upgrade-step',
        requiredRelease: null,
        advice: expect.stringContaining('publisher'),
      }),
    );
  });

  it.each<[string, Case, RegExp]>([
    [
      'an unknown running version',
      { requires: 'v1.5.0', pin: 'svc:edge', runs: 'svc:edge' },
      /^v1\.5\.0 must be installed before .* because the running version is unknown/,
    ],
    ['a label of words', { requires: 'the one before' }, /does not specify a release/],
  ])('warns about %s', (_, given, words) => {
    expect(check(given)).toEqual([expect.stringMatching(words)]);
  });
});
