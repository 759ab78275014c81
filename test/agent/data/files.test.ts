import { describe, expect, it } from 'vitest';
import { files } from '../../../src/agent/data/files.ts';

const mount = { volume: '', path: '/srv/data', isFile: false, root: '/srv/data', where: 'app:/data' };
const archive = { bytes: 10_240, files: 3, seal: 'a'.repeat(64), tree: 'b'.repeat(64) };

describe('what comes from the disk', () => {
  it.each([
    { mounts: [] },
    { mounts: [mount] },
    { mounts: [{ ...mount, volume: 'svc_data', path: '/dev/shm/docker/volumes/svc_data/_data' }] },
    { mounts: [{ ...mount, path: '/srv/..data/.hidden' }] },
  ])('tells where files are: %j', (value) => expect(files.isSource(value)).toBe(true));

  it.each([
    null,
    {},
    { mounts: {} },
    { mounts: [null] },
    ...['/', '', 'srv', '/srv/../etc', '/srv/', '//srv', '/srv/.', '/proc/1', '/etc/passwd'].map((path) => ({
      mounts: [{ ...mount, path }],
    })),
    { mounts: [{ ...mount, volume: '../x' }] },
    { mounts: [{ ...mount, volume: 'a:b' }] },
    { mounts: [{ ...mount, volume: 1 }] },
    { mounts: [{ ...mount, isFile: 'no' }] },
    { mounts: [{ ...mount, root: undefined }] },
    { mounts: [{ ...mount, where: null }] },
  ])('does not: %j', (value) => expect(files.isSource(value)).toBe(false));

  it('tells what was kept of them', () => {
    expect(files.isPart({ archives: [archive] })).toBe(true);
    for (const wrong of [null, {}, { archives: 1 }, { archives: [{}] }])
      expect(files.isPart(wrong)).toBe(false);
    for (const [key, value] of Object.entries({
      bytes: '1',
      files: 1.5,
      seal: 'A'.repeat(64),
      tree: '../x',
    })) {
      expect(files.isPart({ archives: [{ ...archive, [key]: value }] })).toBe(false);
    }
  });
});
