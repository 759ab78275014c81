import { describe, expect, it } from 'vitest';
import { UpdateError } from '../../../src/core/errors/update-error.ts';
import { versionLabel } from '../../../src/engine/objects/labels.ts';
import { planServiceUpdates } from '../../../src/updater/swarm/plan/plan-service-updates.ts';
import { checkPulledStackImages } from '../../../src/updater/swarm/pull/pull-stack.ts';
import { image } from '../../build.ts';
import { engineWith, target, updateOptions } from '../../build-plan.ts';
import { serviceWith, specWith, tasksOf } from '../../build-stack.ts';

const { product } = updateOptions();

interface Given {
  tag: string;
  to?: string | null;
  /** The version label of the image, and the required intermediate release. */
  version?: string;
  requires?: string;
  /** The tag of a running task. */
  runs?: string;
  /** Whether the operator accepts the recall of v1.4.2; without it, there is no channel file. */
  accepted?: boolean;
}

async function check({ tag, to = 'v1.5.0', version, requires, runs, accepted }: Given): Promise<string> {
  const app = serviceWith(specWith({ image: `acme/svc:${tag}@sha256:a` }));
  const tasks = runs === undefined ? [] : tasksOf(['old running', { image: `acme/svc:${runs}@sha256:e` }]);
  const plan = planServiceUpdates({ app, workers: [] }, tasks, { target: target(to), product });
  const recalled = [{ version: 'v1.4.2', why: 'It loses data.' }];
  const recalls = accepted === undefined ? null : { recalled, accepted };
  const labels = {
    ...(version !== undefined && { [versionLabel]: version }),
    ...(requires !== undefined && { 'svc.release-requires': requires }),
  };
  const images = new Map(plan.updates.map((update) => [update.to, image('x', { labels })] as const));
  try {
    const engine = await engineWith({});
    return (await checkPulledStackImages({ engine }, { ...plan, recalls }, images)).join('; ') || 'fit';
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

describe('checkImages', () => {
  it.each<[situation: string, given: Given, said: string]>([
    ['a release tag is believed', { tag: 'v1.4.2', version: 'v1.3.0' }, 'fit'],
    ['a tag that floats leads there', { tag: 'stable', version: 'v1.5.0' }, 'fit'],
    [
      'it lags',
      { tag: 'stable', version: 'v1.4.2' },
      'tag-lags: acme/svc:stable points to v1.4.2, not to v1.5.0',
    ],
    [
      'it does not tell, and the registry does not respond',
      { tag: 'stable' },
      'acme/svc:stable does not specify its version, so it is unknown whether stable points to v1.5.0',
    ],
    ['a part of the version leads there', { tag: 'v1', version: 'v1.5.0' }, 'fit'],
    [
      'a part lags',
      { tag: 'v1', version: 'v1.4.2' },
      'tag-lags: acme/svc:v1 points to v1.4.2, not to v1.5.0',
    ],
    [
      'its label is inherited from a base image',
      { tag: 'v31', to: 'v31.0.5', version: '12.5.0', runs: 'v31' },
      'acme/svc:v31 does not specify its version, so it is unknown whether v31 points to v31.0.5',
    ],
    [
      'it tells less than the target and what runs',
      { tag: 'stable', to: '4.0.15.2941', version: '4.0.15', runs: '4.0.15.2940' },
      'fit',
    ],
    ['without a target it may lead anywhere', { tag: 'canary', to: null, version: 'v1.4.2' }, 'fit'],
    [
      'but not below what runs',
      { tag: 'canary', to: null, version: 'v1.4.2', runs: 'v1.4.3' },
      'downgrade: acme/svc:canary points to v1.4.2, which is older than the running version v1.4.3',
    ],
    [
      'it points to a recalled release',
      { tag: 'stable', to: null, version: 'v1.4.2', accepted: false },
      'recalled: v1.4.2 has been recalled by its publisher: It loses data',
    ],
    [
      'it points to a recalled release that the operator accepts',
      { tag: 'stable', to: null, version: 'v1.4.2', accepted: true },
      'v1.4.2 has been recalled by its publisher: It loses data',
    ],
    ['a release tag was checked before', { tag: 'v1.5.0', version: 'v1.4.2', accepted: false }, 'fit'],
    ['a step that was taken', { tag: 'v1.4.2', requires: 'v1.4.0' }, 'fit'],
    [
      'one that was not',
      { tag: 'v1.4.2', requires: 'v1.4.9' },
      'upgrade-step: v1.4.9 must be installed before acme/svc:v1.5.0, but the running version is v1.4.2',
    ],
    [
      'one that nobody can tell of',
      { tag: 'canary', to: 'canary', requires: 'v1.4.9' },
      'v1.4.9 must be installed before acme/svc:canary; this cannot be checked, because the running version is unknown',
    ],
  ])('checks the image: %s', async (_, given, said) => expect(await check(given)).toBe(said));
});
