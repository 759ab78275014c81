import { expect, it } from 'vitest';
import { classifyPullFailure } from '../../../../src/engine/registry/classify-pull-failure.ts';
import { findFailedImages } from '../../../../src/updater/compose/pull/find-failed-images.ts';

const server = 'ghcr.io/acme/server:v2.0.0';
const learning = 'ghcr.io/acme/server-learning:v2.0.0';

it.each<[name: string, references: string[], messages: string[], failed: string[]]>([
  [
    'what failed, and not what was broken off for it',
    [server, learning],
    [`Image ${server} Interrupted`, `Image ${learning} manifest unknown: ${learning}: not found`],
    [learning],
  ],
  [
    'the one that comes first in the judgement',
    [server, learning],
    [`pull access denied for ghcr.io/acme/server`, `manifest for ${learning} not found: manifest unknown`],
    [learning],
  ],
  [
    'a repository alone',
    [server, learning],
    [
      'Error response from daemon: pull access denied for ghcr.io/acme/server-learning, repository does not exist',
    ],
    [learning],
  ],
  [
    'a name that Docker Hub has in full',
    ['nextcloud:99', 'acme/nextcloud:99'],
    [
      'failed to resolve reference "docker.io/library/nextcloud:99": docker.io/library/nextcloud:99: not found',
    ],
    ['nextcloud:99'],
  ],
  [
    'a version that begins another',
    ['acme/a:v1.0', 'acme/a:v1.0.1'],
    ['manifest for acme/a:v1.0.1 not found: manifest unknown'],
    ['acme/a:v1.0.1'],
  ],
  ['all, where none is named', [server, learning], ['no space left on device'], [server, learning]],
])('reports as failed: %s', (_, references, messages, failed) => {
  const { code } = classifyPullFailure(messages.join('\n'), references);
  expect(findFailedImages(references, messages, code)).toEqual(failed);
});
