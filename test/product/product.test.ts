import { describe, expect, it } from 'vitest';
import { createProduct, roleLabelOf } from '../../src/core/names/product.ts';

describe('a product', () => {
  it('derives all values from its name', () => {
    expect(createProduct({ name: 'tool-box' })).toEqual({
      name: 'tool-box',
      services: ['app', 'worker'],
      versionVariable: 'TOOL_BOX_VERSION',
      marker: '# tool-box:generated',
      releaseDirectory: '/usr/share/tool-box/release',
      containerName: 'tool-box-updater',
      labelPrefix: 'tool-box',
      feed: null,
    });
  });

  it('keeps the given values when it is parsed again', () => {
    const given = {
      name: 'larder',
      services: ['web', 'jobs', 'mail'],
      versionVariable: 'TAG',
      marker: '#generated',
      releaseDirectory: '/release',
      containerName: 'larder_update',
      labelPrefix: 'org.example.larder',
      feed: 'https://forge.example.org/releases',
      data: { db: 'save', cache: 'none' },
      ready: ['/srv/ready', '--quick'],
      preflight: ['/srv/preflight'],
    } as const;
    expect(createProduct(given)).toEqual(given);
    expect(createProduct(createProduct(given))).toEqual(given);
    expect(roleLabelOf(createProduct(given))).toBe('org.example.larder.role');
  });

  it.each([
    [{ db: 'pg' }, '{"db":"pg"}'],
    [{ '../db': 'none' }, '{"../db":"none"}'],
  ])('accepts only save and none for the data of a service, and rejects %j', (data, shown) => {
    expect(() => createProduct({ name: 'larder', data } as never)).toThrow(
      `invalid product: data must be save or none for each service, such as { db: 'save' }, not ${shown}`,
    );
  });

  it.each([[[]], ['/srv/ready'], [['a\0']]])('requires a list for a command, and rejects %j', (ready) => {
    expect(() => createProduct({ name: 'larder', ready } as never)).toThrow(
      'ready must be a list of 1 to 64 strings',
    );
  });

  it.each<[string, unknown, string]>([
    ['nothing', null, 'it must be an object'],
    ['no name', {}, 'name must be one word of lower-case letters, digits and hyphens'],
    [
      'a name that is a path',
      { name: '../x' },
      'name must be one word of lower-case letters, digits and hyphens, not "../x"',
    ],
    [
      'a service that is none',
      { name: 'larder', services: ['web', '-x'] },
      'services must be a list of service names, the app first, not ["web","-x"]',
    ],
    [
      'a service twice',
      { name: 'larder', services: ['web', 'web'] },
      'services must not list a service twice, not ["web","web"]',
    ],
    [
      'a variable that is none',
      { name: 'larder', versionVariable: 'A-B' },
      'versionVariable must be the name of a variable, not "A-B"',
    ],
    [
      'a marker of two lines',
      { name: 'larder', marker: '# a\n# b' },
      'marker must be a one-line comment such as # larder:generated, not "# a\\n# b"',
    ],
    [
      'a path that leads up',
      { name: 'larder', releaseDirectory: '/a/..' },
      'releaseDirectory must be an absolute path, not "/a/.."',
    ],
    [
      'a container that is none',
      { name: 'larder', containerName: 'a b' },
      'containerName must be the name of a container, not "a b"',
    ],
    [
      'a label that is none',
      { name: 'larder', labelPrefix: 'a..b' },
      'labelPrefix must be a label prefix such as org.example.larder, not "a..b"',
    ],
    [
      'a feed with a login',
      { name: 'larder', feed: 'https://anna:secret@x.org' },
      'feed must be a web address without credentials',
    ],
    ['an unknown key', { name: 'larder', version: '1' }, 'version is not a known key'],
    [
      'two mistakes',
      { name: 'larder', marker: 1, feed: 2 },
      'marker must be a one-line comment such as # larder:generated, not 1; feed must be a web address, not 2',
    ],
  ])('rejects %s', (_, given, message) => {
    expect(() => createProduct(given as never)).toThrow(new TypeError(`invalid product: ${message}`));
  });
});
