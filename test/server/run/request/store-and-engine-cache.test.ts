import { expect, it } from 'vitest';
import { findUnmountedStoreReason } from '../../../../src/server/run/request/store-and-engine-cache.ts';
import { homeOf } from '../../deployment/deployment-of.ts';

it.each([
  ['on a volume', '/data', false],
  ['below it', '/data/updates', false],
  ['beside it', '/database', true],
  ['somewhere that is not said', undefined, false],
])('reports a store that would be lost with the container: %s', (_, directory, isLost) => {
  const reason = findUnmountedStoreReason(homeOf({ mounted: ['/var/run/docker.sock', '/data'] }), directory);
  expect(reason?.code ?? null).toBe(isLost ? 'store-unavailable' : null);
  if (isLost) expect(reason?.message).toContain(directory);
});
