import { describe, expect, it } from 'vitest';
import { UpdateError } from '../../../../src/core/errors/update-error.ts';
import type { SwarmTask } from '../../../../src/engine/swarm/swarm-service.ts';
import { planServiceUpdates } from '../../../../src/updater/swarm/plan/plan-service-updates.ts';
import { target, updateOptions } from '../../../build-plan.ts';
import { serviceWith, specWith, tasksOf } from '../../../build-stack.ts';

const { product } = updateOptions();

interface Given {
  /** The image in the stack file; by default the image without its digest. */
  label?: string | null;
  image?: string;
  worker?: string;
  to?: string | null;
  tasks?: readonly SwarmTask[];
}

function plan({ image = 'acme/svc:v1.4.2@sha256:a', label, worker, to = 'v1.5.0', tasks = [] }: Given) {
  const service = (name: string, of: string) =>
    serviceWith(specWith({ name, image: of, ...(name === 'svc_app' && label !== undefined && { label }) }));
  const workers = worker === undefined ? [] : [service('svc_worker', worker)];
  return planServiceUpdates({ app: service('svc_app', image), workers }, tasks, {
    target: target(to),
    product,
  });
}

/** Shortens each digest to one digit. */
const short = (text: string): string => text.replaceAll(/(@sha256:\w)\w+/g, '$1');

/** `v1.4.2 → v1.5.0: acme/svc:v1.4.2 → acme/svc:v1.5.0`, or the error. */
function words(given: Given): string {
  try {
    const { from, to: version, updates } = plan(given);
    return short(
      `${from} → ${version}: ${updates.map(({ pin, to }) => `${pin.referenceText} → ${to}`).join(', ')}`,
    );
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    return short(`${error.code}: ${error.message}`);
  }
}

const running = (image: string, state = 'running') => tasksOf([`old ${state}`, { image }]);

describe('planServiceUpdates', () => {
  it.each<[situation: string, given: Given, said: string]>([
    ['by the label', {}, 'v1.4.2 → v1.5.0: acme/svc:v1.4.2 → acme/svc:v1.5.0'],
    [
      'a digest that the file has',
      { label: 'acme/svc:v1.4.2@sha256:a' },
      'v1.4.2 → v1.5.0: acme/svc:v1.4.2@sha256:a → acme/svc:v1.5.0',
    ],
    [
      'a variant stays',
      { image: 'acme/svc:v1.4.2-alpine@sha256:a' },
      'v1.4.2 → v1.5.0: acme/svc:v1.4.2-alpine → acme/svc:v1.5.0-alpine',
    ],
    ['a part', { image: 'acme/svc:v1@sha256:a' }, 'v1 → v1.5.0: acme/svc:v1 → acme/svc:v1'],
    [
      'a part of what runs',
      { image: 'acme/svc:v1.4@sha256:a', tasks: running('acme/svc:v1.4.2@sha256:a'), to: 'v1.4' },
      'v1.4 → v1.4: acme/svc:v1.4 → acme/svc:v1.4',
    ],
    ['to canary', { to: 'canary' }, 'v1.4.2 → canary: acme/svc:v1.4.2 → acme/svc:canary'],
    [
      'what floats is pulled again',
      { image: 'acme/svc:canary@sha256:a', to: null },
      'canary → canary: acme/svc:canary → acme/svc:canary',
    ],
    [
      'a part without a target, as in a compose project',
      { image: 'acme/svc:v1@sha256:a', to: null },
      'v1 → v1: acme/svc:v1 → acme/svc:v1',
    ],
  ])('plans the update: %s', (_, given, said) => expect(words(given)).toBe(said));

  it.each<[situation: string, given: Given, said: string]>([
    ['an older one', { to: 'v1.4.1' }, 'downgrade: v1.4.1 is older than the running version v1.4.2'],
    [
      'one that is older than a task',
      { tasks: running('acme/svc:v1.6.0@sha256:c') },
      'downgrade: v1.5.0 is older than the running version v1.6.0',
    ],
    [
      'one that is older than the image under an old label',
      { image: 'acme/svc:v1.6.0@sha256:c', label: 'acme/svc:v1.4.2' },
      'downgrade: v1.5.0 is older than the running version v1.6.0',
    ],
    ['no target', { to: null }, 'no-target: svc_app is pinned to v1.4.2 by image of app in the stack file'],
    [
      'a digest alone',
      { label: 'acme/svc@sha256:a' },
      'pin-digest: svc_app is pinned to a digest without a tag (acme/svc@sha256:a)',
    ],
    ['no tag', { image: 'acme/svc' }, 'pin-unsupported: the image used by svc_app has no tag (acme/svc)'],
    [
      'a tag that has no version',
      { image: 'acme/svc:2025-10-15@sha256:a' },
      'pin-unsupported: svc_app is pinned to 2025-10-15 (image of app in the stack file), which is not a version and cannot be compared with v1.5.0',
    ],
    [
      'another variant',
      { to: 'v1.5.0-alpine' },
      'pin-unsupported: svc_app is pinned to v1.4.2 (image of app in the stack file), but v1.5.0-alpine is a different variant',
    ],
    [
      'a target of another tag',
      { image: 'acme/svc:edge@sha256:a', to: 'stable' },
      'pin-unsupported: svc_app is pinned to edge (image of app in the stack file), not to stable',
    ],
  ])('rejects %s', (_, given, said) => expect(words(given)).toBe(said));

  it('advises to deploy the stack file after a manual change', () => {
    expect(() => plan({ to: 'v1.5.0-alpine' })).toThrow(
      expect.objectContaining({
        advice: expect.stringMatching(/set the tag manually, then deploy the stack\.$/),
      }),
    );
  });

  it('finds the newest version among specs and tasks', () => {
    expect(plan({ tasks: running('acme/svc:v1.5.0-alpine@sha256:b') }).installation.runningVersion).toBe(
      '1.5.0',
    );
    expect(plan({ image: 'acme/svc:canary@sha256:a' }).installation.runningVersion).toBeNull();
  });
});
