import { lstat, mkdir, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { HostPaths, isWithin } from '../../../src/core/mounts/host-paths.ts';
import { linkAllHostPaths, linkHostPath } from '../../../src/core/mounts/link-paths.ts';
import { temporaryDirectory } from '../../rig/temporary-directory.ts';

let root = '';
beforeEach(async () => {
  root = await temporaryDirectory();
});

const bind = (source: string, destination: string, writable = true) => ({
  type: 'bind',
  source,
  destination,
  writable,
});

describe('HostPaths', () => {
  it('maps paths in both directions by the deepest mount', () => {
    const paths = new HostPaths([
      bind('/opt', '/host'),
      bind('/opt/svc', '/compose', false),
      bind('/etc', '/etc'),
    ]);
    expect(paths.toHost('/compose/data/x')).toBe('/opt/svc/data/x');
    expect(paths.toHost('/host/other')).toBe('/opt/other');
    expect(paths.toHost('/tmp')).toBeNull();
    expect(paths.fromHost('/opt/svc/.env')).toBe('/compose/.env');
    expect(paths.fromHost('/opt/svc2')).toBe('/host/svc2');
    expect(paths.fromHost('/srv')).toBeNull();
    expect(paths.isWritable('/compose/.env')).toBe(false);
    expect(paths.isWritable('/host/svc/.env')).toBe(true);
    expect(paths.isMountPoint('/compose')).toBe(true);
    expect(paths.isMountPoint('/compose/.env')).toBe(false);
  });

  it('creates a link for a host path once, with its parent directories', async () => {
    await mkdir(join(root, 'compose/data'), { recursive: true });
    const host = join(root, 'opt/deep/svc');
    const paths = new HostPaths([bind(host, join(root, 'compose'))]);
    expect(await linkHostPath(paths, join(host, 'data'))).toEqual({ link: host, to: join(root, 'compose') });
    expect(await readlink(host)).toBe(join(root, 'compose'));
    expect(await linkHostPath(paths, join(host, 'data'))).toBeNull();
    expect(await linkHostPath(paths, host)).toBeNull();
  });

  it('creates links for all directories mounted at other paths, but not for files', async () => {
    await mkdir(join(root, 'one'));
    await mkdir(join(root, 'two'));
    await writeFile(join(root, 'config.json'), '{}');
    const paths = new HostPaths([
      bind(join(root, 'one'), join(root, 'one')),
      bind(join(root, 'srv/two'), join(root, 'two')),
      bind(join(root, 'home/config.json'), join(root, 'config.json')),
      bind(join(root, 'one'), join(root, 'two')),
    ]);
    expect(await linkAllHostPaths(paths)).toEqual([{ link: join(root, 'srv/two'), to: join(root, 'two') }]);
    expect(await readlink(join(root, 'srv/two'))).toBe(join(root, 'two'));
  });

  it('rejects a path that already exists in the container, and reports which mount to use', async () => {
    await mkdir(join(root, 'compose'));
    await mkdir(join(root, 'opt'));
    await writeFile(join(root, 'opt/svc'), '');
    const paths = new HostPaths([bind(join(root, 'opt/svc'), join(root, 'compose'))]);
    await expect(linkHostPath(paths, join(root, 'opt/svc'))).rejects.toMatchObject({
      code: 'path-taken',
      advice: `Mount it at its own path: -v ${join(root, 'opt/svc')}:${join(root, 'opt/svc')}.`,
    });
    expect((await lstat(join(root, 'opt/svc'))).isFile()).toBe(true);
  });

  it('rejects a path that is not mounted', async () => {
    await expect(linkHostPath(new HostPaths([]), '/srv/x')).rejects.toMatchObject({ code: 'outside-mounts' });
  });

  it('recognises an alias of a mounted directory', async () => {
    await mkdir(join(root, 'compose'));
    const paths = new HostPaths([bind('/data/svc', join(root, 'compose'))]);
    paths.addAlias(join(root, 'link'), join(root, 'compose'));
    expect(paths.fromHost(join(root, 'link/.env'))).toBe(join(root, 'compose/.env'));
    expect(await linkHostPath(paths, join(root, 'link'))).toEqual({
      link: join(root, 'link'),
      to: join(root, 'compose'),
    });
    expect(paths.toHost(join(root, 'compose'))).toBe('/data/svc');
  });
});

it.each([
  ['/opt/svc', '/opt/svc', true],
  ['/opt/svc/x', '/opt/svc', true],
  ['/opt/svc2', '/opt/svc', false],
  ['/opt', '/opt/svc', false],
  ['/opt', '/', true],
])('isWithin reports whether %s is within %s: %s', (path, directory, expected) => {
  expect(isWithin(path, directory)).toBe(expected);
});
