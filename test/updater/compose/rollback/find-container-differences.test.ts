import { describe, expect, it } from 'vitest';
import type { Mount } from '../../../../src/core/mounts/host-paths.ts';

import { findContainerDifferences } from '../../../../src/updater/compose/rollback/find-container-differences.ts';
import { blueprint, container, record } from '../../../build.ts';

const volume = 'f'.repeat(64);
const before = blueprint('app-1', {
  networks: { svc_internal: {}, svc_proxy: {} },
  published: ['8080/tcp'],
  hostConfig: {
    Binds: ['/opt/svc/data:/data:rw', 'db:/db'],
    Mounts: [
      { Type: 'volume', Source: volume, Target: '/cache/' },
      { Type: 'tmpfs', Target: '/tmp' },
    ],
  },
});
const mount = (type: string, source: string, destination: string): Mount => ({
  ...{ type, source, destination, writable: true },
});
const whole = container('app-1', {
  networks: ['svc_internal', 'svc_proxy', 'joined-by-hand'],
  published: ['8080/tcp', '9090/tcp'],
  requestedMounts: [mount('bind', '/opt/svc/data', '/data'), mount('volume', 'db', '/db')],
  // Some engines report a bind with another path than the requested one.
  mounts: [
    ...[mount('bind', '/host_mnt/opt/svc/data', '/data'), mount('volume', 'db', '/db')],
    mount('volume', volume, '/cache'),
  ],
});

describe('findLosses', () => {
  it('finds no loss if nothing has changed', () => {
    expect(findContainerDifferences(record(whole), before, whole)).toEqual([]);
    const stopped = { ...whole, status: 'exited', published: [] };
    expect(findContainerDifferences(record(stopped), before, stopped)).toEqual([]);
    expect(findContainerDifferences(record(whole), undefined, whole)).toEqual([]);
    const { published: _, ...older } = before;
    expect(findContainerDifferences(record(whole), older, { ...whole, published: [] })).toEqual([]);
  });

  it.each<[change: Parameters<typeof container>[1] | null, loss: string]>([
    [null, 'no longer exists'],
    [{ imageId: 'sha256:new' }, 'is running a different image'],
    [{ networks: ['svc_proxy'] }, 'is not connected to network svc_internal'],
    [{ published: [] }, 'does not publish port 8080/tcp'],
    [{ requestedMounts: [] }, 'does not have /opt/svc/data mounted at /data'],
    [{ mounts: whole.mounts.slice(0, 2) }, `does not have ${volume} mounted at /cache/`],
    [{ status: 'exited' }, 'is exited'],
    [{ health: 'unhealthy' }, 'is unhealthy'],
  ])('reports the loss after the change %j', (change, loss) => {
    expect(
      findContainerDifferences(record(whole), before, change === null ? undefined : { ...whole, ...change }),
    ).toEqual([`svc-app-1 ${loss}`]);
  });

  it('compares the content of the image, not its index', () => {
    const content = { ...whole, imageManifest: 'sha256:amd64' };
    const again = { ...content, imageId: 'sha256:index-2' };
    expect(findContainerDifferences(record(content), before, again)).toEqual([]);
    const another = { ...again, imageManifest: 'sha256:other' };
    expect(findContainerDifferences(record(content), before, another)).toEqual([
      'svc-app-1 is running a different image',
    ]);
  });

  it('does not require more than before the update', () => {
    const unwell = { ...whole, health: 'unhealthy' };
    expect(findContainerDifferences(record(whole, { well: false }), before, unwell)).toEqual([]);
    const loops = { ...whole, status: 'restarting', published: [] };
    expect(findContainerDifferences(record(whole, { well: false }), before, loops)).toEqual([]);
    expect(findContainerDifferences(record(whole, { runs: false, well: false }), before, whole)).toEqual([
      'svc-app-1 is running, but was not running before the update',
    ]);
  });
});
