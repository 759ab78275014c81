import { describe, expect, it } from 'vitest';
import { UpdateError } from '../../../../src/core/errors/update-error.ts';
import type { Image } from '../../../../src/engine/objects/container.ts';
import { requireVerifiedImages } from '../../../../src/updater/compose/pull/require-verified.ts';

const digest = (digit: string) => `sha256:${digit.repeat(64)}`;
const [index, manifest, config, other] = ['a', 'b', 'c', 'f'].map(digest) as [string, string, string, string];
const to = 'registry.example.org:5000/acme/svc:v1.5.0';
const repository = 'registry.example.org:5000/acme/svc';

const image = (more: Partial<Image>): Image =>
  ({
    id: other,
    digests: [],
    manifests: [],
    labels: {},
    env: new Map(),
    config: null,
    size: 1,
    ...more,
  }) as Image;

const held = (found: Image | null, expected: Record<string, string[]>) => () =>
  requireVerifiedImages(new Map([['app', to]]), new Map(found ? [[to, found]] : []), {
    images: new Map(Object.entries(expected).map(([name, digests]) => [name, new Set(digests)])),
    ...{ files: new Map(), layers: new Map() },
  });
const proven = { app: [index, manifest, config] };

describe('an image', () => {
  it.each<[string, Image, Record<string, string[]>]>([
    ['the index, as the containerd store tells', image({ id: index }), proven],
    ['the index, as the other store has it pulled', image({ digests: [`${repository}@${index}`] }), proven],
    ['the configuration, as the other store tells', image({ id: config }), proven],
    [
      'the one manifest of this platform, below an index of no matter',
      image({ manifests: [manifest] }),
      proven,
    ],
    ['named by its repository', image({ id: index }), { [repository]: [index] }],
  ])('is verified by %s', (_, found, expected) => {
    expect(held(found, expected)).not.toThrow();
  });

  it.each<[string, Image | null, Record<string, string[]>, string]>([
    ['is another', image({}), proven, `the image ${to} used by app is ${other} instead of the verified`],
    [
      'is another, by its digest',
      image({ digests: [`${repository}@${other}`] }),
      proven,
      `is ${other} instead of`,
    ],
    [
      'has another manifest beside it',
      image({ manifests: [manifest, other] }),
      proven,
      'instead of the verified',
    ],
    ['is not here', null, proven, 'is missing; the verified image is'],
    ['is in no release', image({ id: index }), { worker: [index] }, 'is not part of a verified release'],
    [
      'is of a repository that ends alike',
      image({ id: index }),
      { 'acme/svc': [index] },
      'is not part of a verified release',
    ],
  ])('is rejected if it %s', (_, found, expected, why) => {
    expect(held(found, expected)).toThrow(UpdateError);
    expect(held(found, expected)).toThrow(why);
  });

  it('that a service mounts is reported with the name of the service', () => {
    const none = { images: new Map(), files: new Map(), layers: new Map() };
    expect(() => requireVerifiedImages(new Map([['app.volume0', to]]), new Map(), none)).toThrow(
      'used by app is not',
    );
  });
});
