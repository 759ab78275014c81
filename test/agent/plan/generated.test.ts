import { describe, expect, it } from 'vitest';
import { checkGenerated } from '../../../src/agent/plan/generated.ts';
import { movesOf } from '../../../src/agent/plan/plan-update.ts';
import type { Model } from '../../../src/engine/cli/compose.ts';
import { generated, installed, modelOf, planTo, projectFiles } from '../../build-plan.ts';

type Shared = Pick<Model, 'networks' | 'volumes'>;
const texts = { 'compose.yaml': generated({ app: 'acme/svc:latest', worker: 'acme/svc:latest' }) };

/** Holds a model against what is expected: by default what the model has itself. */
function check(
  images: Record<string, string>,
  {
    expected = images,
    before = {},
    after = {},
  }: { expected?: Record<string, string>; before?: Shared; after?: Shared } = {},
  to: string | null = 'v1.1.0',
) {
  const from = installed(texts, { kind: 'generated', model: { ...modelOf(projectFiles(texts)), ...before } });
  const services = Object.fromEntries(Object.entries(images).map(([name, image]) => [name, { image }]));
  const proof = { images: new Map(Object.entries(expected)), substitutions: [], shares: () => false };
  checkGenerated(from, { name: 'svc', services, ...after }, proof, movesOf(planTo(to, from)));
}

const both = (reference: string) => ({ app: reference, worker: reference });
const good = both('acme/next:v1.1.0');

describe('checkGenerated: images', () => {
  it('takes those that the new files name, with the tag of the target', () => {
    expect(() => check(good)).not.toThrow();
    expect(() => check(both(`acme/svc:v1.1.0@sha256:${'a'.repeat(64)}`))).not.toThrow();
    expect(() => check(both('acme/svc'), {}, null)).not.toThrow();
  });

  it.each<[string, Record<string, string>, Record<string, string>, string]>([
    [
      'a tag of its own',
      both('acme/svc:v1.0.9'),
      both('acme/svc:v1.0.9'),
      'app would run acme/svc:v1.0.9, not v1.1.0',
    ],
    ['no tag', both('acme/svc'), both('acme/svc'), 'app would run acme/svc, not v1.1.0'],
    [
      'another image than was read from them',
      good,
      both('acme/svc:v1.1.0'),
      'app would run acme/next:v1.1.0, not v1.1.0',
    ],
    [
      'another image of the worker',
      { ...good, worker: 'acme/next:v1.0.0' },
      good,
      'worker would run acme/next:v1.0.0, not v1.1.0',
    ],
    ['no worker', { app: 'acme/next:v1.1.0' }, good, 'worker would run nothing, not v1.1.0'],
  ])('fails with files that lead to %s', (_, images, expected, message) => {
    expect(() => check(images, { expected })).toThrow(
      expect.objectContaining({ code: 'proof-failed', message: `with the files of the release ${message}` }),
    );
  });
});

describe('checkGenerated: what several services share', () => {
  const net = (name: string, external = false) => ({ networks: { internal: { name, external } } });
  const data = (name: string) => ({ volumes: { data: { name } } });

  it.each<[string, Shared, Shared]>([
    ['stays', { ...net('a'), ...data('b') }, { ...net('a'), ...data('b') }],
    ['comes', {}, { ...net('a'), ...data('b') }],
    ['goes', { ...net('a'), ...data('b') }, {}],
    ['has no definition', { networks: { default: null } }, { networks: { default: null } }],
  ])('takes a network or volume that %s', (_, before, after) => {
    expect(() => check(good, { before, after })).not.toThrow();
  });

  it.each<[string, Shared, Shared]>([
    ['network internal', net('a'), net('b')],
    ['network internal', net('a'), net('a', true)],
    ['network default', { networks: { default: null } }, { networks: { default: { name: 'a' } } }],
    ['volume data', data('a'), data('b')],
    ['network internal, volume data', { ...net('a'), ...data('a') }, { ...net('b'), ...data('b') }],
  ])('refuses another definition of %s', (what, before, after) => {
    const message = `the release changes the definition of ${what}, which is in use`;
    expect(() => check(good, { before, after })).toThrow(
      expect.objectContaining({ code: 'shared-definition', message }),
    );
  });
});
