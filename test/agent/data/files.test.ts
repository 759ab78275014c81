import { describe, expect, it } from 'vitest';
import { files, refusalsOf } from '../../../src/agent/data/files.ts';

const mount = { volume: '', path: '/srv/data', isFile: false, root: '/srv/data', where: 'app:/data' };
const archive = { bytes: 10_240, files: 3, seal: 'a'.repeat(64), tree: 'b'.repeat(64) };

describe('what is there cannot be kept', () => {
  const plain = { fileSystem: 0xef53, inside: [], strange: [] };

  it.each([
    [{ fileSystem: 0x6969 }, 'app:/data is /srv/data on NFS, where others may write'],
    [{ fileSystem: 0xfe534d42 }, 'app:/data is /srv/data on SMB, where others may write'],
    [{ inside: ['/sub'] }, 'app:/data has another file system or subvolume at "/sub"'],
    [{ strange: ['/note'] }, 'app:/data has "/note", whose owner or group this engine does not map'],
  ])('%j', (look, begins) => {
    const said = refusalsOf(mount, { ...plain, ...look });
    expect(said).toEqual([expect.stringContaining(begins)]);
  });

  it('or it can', () => expect(refusalsOf(mount, plain)).toEqual([]));
});

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
