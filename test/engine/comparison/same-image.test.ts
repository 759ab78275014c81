import { describe, expect, it } from 'vitest';
import {
  canRemainAfterUp,
  hasSameImage,
  isContainerOfImage,
  isSameImage,
} from '../../../src/engine/comparison/same-image.ts';

// Ids and manifests as reported with both image stores: with the containerd store, the id is the digest of the index.
const image = (id: string, ...manifests: string[]) => ({ id, manifests });
const use = (imageId: string, imageManifest: string | null = null) => ({ imageId, imageManifest });
const noted = (image: string | null, version = '2.40.3-3') => ({
  ...(image === null ? {} : { 'com.docker.compose.image': image }),
  'com.docker.compose.version': version,
});

describe('isContainerOfImage', () => {
  it.each<
    [
      what: string,
      Parameters<typeof isContainerOfImage>[0],
      Parameters<typeof isContainerOfImage>[1],
      boolean,
    ]
  >([
    ['the same id', use('index-1', 'amd64'), image('index-1', 'amd64'), true],
    ['the same id, as a journal of before has it', { imageId: 'config' }, { id: 'config' }, true],
    ['another index with the same content', use('index-1', 'amd64'), image('index-2', 'amd64'), true],
    ['another content', use('index-1', 'amd64'), image('index-2', 'other'), false],
    ['a manifest is told of one of the two alone', use('index-1', 'amd64'), image('index-2'), false],
    ['an image that is not here', use('index-1', 'amd64'), null, false],
    ['none', use('', ''), undefined, false],
  ])('compares a container with an image: %s: %j, %j', (_, container, other, expected) => {
    expect(isContainerOfImage(container, other)).toBe(expected);
  });
});

describe('hasSameImage', () => {
  it.each<[Parameters<typeof use>, Parameters<typeof use>, boolean]>([
    [['index-1', 'amd64'], ['index-2', 'amd64'], true],
    [['index-1', 'amd64'], ['index-2', 'other'], false],
    [['config'], ['other'], false],
    [['index-1'], ['index-2', 'amd64'], false],
  ])('compares %j and %j', (one, other, expected) => {
    expect(hasSameImage(use(...one), use(...other))).toBe(expected);
    expect(hasSameImage(use(...other), use(...one))).toBe(expected);
  });
});

it.each<[ReturnType<typeof image>, ReturnType<typeof image>, boolean]>([
  [image('index-1', 'amd64'), image('index-2', 'amd64', 'arm64'), true],
  [image('index-1', 'amd64', 'arm64'), image('index-2', 'amd64', 'other'), false],
  [image('config'), image('other'), false],
])('isSameImage compares %j and %j', (one, other, expected) =>
  expect(isSameImage(one, other)).toBe(expected),
);

describe('canKeepContainer', () => {
  const [pulled, running] = [image('index-2', 'amd64'), use('index-1', 'amd64')];

  it.each<[what: string, Parameters<typeof canRemainAfterUp>[0], boolean]>([
    ['made of what was pulled before', { ...running, labels: noted('amd64') }, true],
    ['made by an up that pulled', { ...running, labels: noted('index-1', '5.4.0') }, true],
    ['made by 5.2', { ...running, labels: noted('index-1', '5.2.1') }, false],
    ['made by one that does not say', { ...running, labels: noted('index-1', '') }, false],
    ['made by an older one: it notes the index', { ...running, labels: noted('index-1') }, false],
    [
      'made by an older one of this very image',
      { ...use('index-2', 'amd64'), labels: noted('index-2') },
      true,
    ],
    [
      'of another content, whatever is noted',
      { ...use('index-1', 'old'), labels: noted('amd64', '5.4.0') },
      false,
    ],
  ])('checks a container %s', (_, container, expected) => {
    expect(canRemainAfterUp(container, pulled)).toBe(expected);
  });
});
