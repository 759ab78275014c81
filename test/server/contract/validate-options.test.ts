import { describe, expect, it, vi } from 'vitest';
import { createProduct, svcProduct } from '../../../src/core/names/product.ts';
import type { InstanceOptions } from '../../../src/server/contract/instance-options.ts';
import { noQueue, validateInstanceOptions } from '../../../src/server/contract/validate-options.ts';

const required: InstanceOptions = {
  version: 'v1.4.2',
  updaterImage: 'ghcr.io/acme/svc-updater:1',
  feed: null,
  authorize: () => null,
  queue: { hold: () => {}, resume: () => {}, jobs: () => [] },
  store: { get: () => null, set: () => true },
};

/** The error message without its first line; empty if the options are valid. */
function mistakes(options: unknown): string {
  try {
    validateInstanceOptions(options as InstanceOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    const [first, ...rest] = String((error as Error).message).split('\n');
    expect(first).toBe('svc-updater: invalid options');
    return rest.join('\n');
  }
  return '';
}

describe('validateInstanceOptions', () => {
  it.each(['20.20.2', '22.11.0'])('rejects Node.js %s in one sentence', (version) => {
    expect(() => validateInstanceOptions(required, version)).toThrow(
      `svc-updater requires Node.js 22.12 or later; this is Node.js ${version}`,
    );
  });

  it('adds the defaults', () => {
    const settings = validateInstanceOptions(required);
    expect(settings).toMatchObject({
      product: svcProduct,
      preparationMs: 3_600_000,
      idleMs: 3_600_000,
      updaterPull: 'always',
      containerName: 'svc-updater',
      engine: 'unix:///var/run/docker.sock',
      restorePoint: false,
      maxDowntimeSeconds: null,
      prefetch: false,
      automatic: {
        ...{
          enabled: false,
          from: '02:00',
          to: '05:00',
          days: [],
          minAgeHours: 72,
          includeMajors: false,
          rehearse: false,
        },
        timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      },
      path: '/api/v1/instance/update',
    });
    expect(settings.buildServers()).toEqual([]);
  });

  it('needs no queue, but an image of the updater', () => {
    const { queue: _, ...others } = required;
    expect(validateInstanceOptions(others).queue).toBe(noQueue);
    expect(validateInstanceOptions({ ...required, updaterImage: null }).updaterImage).toBeNull();
    const { updaterImage: __, ...withoutImage } = required;
    expect(mistakes(withoutImage)).toContain('updaterImage');
  });

  it.each<[string, object, string]>([
    ['an image that is a flag', { updaterImage: '--privileged' }, 'updaterImage'],
    [
      'a channel file by file',
      { feed: { url: 'https://example.org', channelUrl: 'file:///etc/passwd' } },
      'feed.channelUrl',
    ],
    [
      'a feed with a token of two lines',
      { feed: { url: 'https://example.org', headers: { token: 'a\nb' } } },
      'feed.headers.token',
    ],
    ['a feed by file', { feed: { url: 'file:///etc/passwd' } }, 'feed.url'],
    [
      'a trust in a workflow without its root',
      { feed: { url: 'https://example.org', trust: { identity: 'https://x/', issuer: 'https://x' } } },
      'feed.trust',
    ],
    ['a feed with more', { feed: { url: 'https://example.org', token: 'x' } }, 'feed'],
    ['a queue that cannot hold', { queue: { resume: () => {}, jobs: () => [] } }, 'queue.hold'],
    ['another pull', { updaterPull: 'never' }, 'updaterPull'],
    ['a setting of somebody else', { updaterEnvironment: { DOCKER_HOST: 'x' } }, 'updaterEnvironment'],
    ['a container by its path', { containerName: '/svc-updater' }, 'containerName'],
    ['a worker with a space', { workers: ['worker', 'a b'] }, 'workers[1]'],
    ['a socket by its path', { engine: '/run/docker.sock' }, 'engine'],
    ["an updater's socket by address", { updaterSocket: 'unix:///run/docker.sock' }, 'updaterSocket'],
    ['credentials with a slash at the end', { registryCredentials: '/root/' }, 'registryCredentials'],
    ['a relative directory', { directories: ['/opt', './x'] }, 'directories[1]'],
    ['a path that climbs', { path: '/a/../b' }, 'path'],
  ])('reports %s', (_, options, where) => {
    expect(mistakes({ ...required, ...options })).toContain(where);
  });

  it('uses the given product', () => {
    const feed = 'https://forge.example.org/releases';
    const product = { name: 'larder', services: ['web', 'jobs'], feed };
    const { feed: _, ...others } = required;
    const read = validateInstanceOptions({ ...others, product });
    expect(read).toMatchObject({
      product: createProduct(product),
      containerName: 'larder-updater',
      feed: { url: feed },
    });
    expect(validateInstanceOptions({ ...required, product }).feed).toBeNull();
    expect(validateInstanceOptions({ ...required, product, containerName: 'other' }).containerName).toBe(
      'other',
    );
    expect(() => validateInstanceOptions({ ...required, product, path: 'x' })).toThrow(
      /^larder-updater: invalid options\n/,
    );
  });

  it('requires a feed if the product has none', () => {
    const { feed: _, ...others } = required;
    expect(mistakes(others)).toContain('feed');
    expect(mistakes({ ...others, product: { name: 'svc' } })).toContain('feed');
  });

  it('reports all errors at once', () => {
    const text = mistakes({ ...required, version: 1, path: 'x', log: 1, extra: 1 });
    for (const name of ['version', 'path', 'log', 'extra']) expect(text).toContain(name);
  });

  it('does not repeat values in error messages', () => {
    const text = mistakes({
      ...required,
      feed: { url: 'ftp://hunter2', headers: { authorization: 2 } },
      updaterImage: ' hunter2',
      engine: 'hunter2',
    });
    expect(text).not.toContain('hunter2');
  });
});

describe('the version', () => {
  it.each([
    ['1.4.2', 'v1.4.2'],
    ['1.6.0-canary.3', 'v1.6.0-canary.3'],
    ['2026-11-21', '2026-11-21'],
  ])('is read from %s as %s', (version, told) =>
    expect(validateInstanceOptions({ ...required, version }).version).toBe(told),
  );
});

it('logs warnings and errors to the console', () => {
  const said: unknown[][] = [];
  for (const level of ['info', 'log', 'warn'] as const)
    vi.spyOn(console, level).mockImplementation((...told) => void said.push([level, ...told]));
  const { log } = validateInstanceOptions({ ...required, product: { name: 'larder' } });
  const cause = new Error('ENOENT');
  log({ level: 'info', message: 'the releases were read' });
  log({ level: 'warn', message: 'the feed cannot be read', cause });
  vi.restoreAllMocks();
  expect(said).toEqual([['warn', 'larder-updater: the feed cannot be read', cause]]);
});
