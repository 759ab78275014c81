import { afterEach, describe, expect, it, vi } from 'vitest';
import { type InstanceOptions, readOptions } from '../../../src/instance/contract/options.ts';
import { productOf, svc } from '../../../src/progress/product.ts';
import { publisher } from '../../provenance/sign.ts';

const required: InstanceOptions = {
  version: 'v1.4.2',
  updaterImage: 'ghcr.io/acme/svc-updater:1',
  feed: null,
  authorize: () => null,
  queue: { hold: () => {}, resume: () => {}, jobs: () => [] },
  store: { get: () => null, set: () => true },
};

/** What a mistake is called, without the first line. */
function mistakes(options: unknown): string {
  try {
    readOptions(options as InstanceOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    const [first, ...rest] = String((error as Error).message).split('\n');
    expect(first).toBe('svc-updater: wrong options');
    return rest.join('\n');
  }
  return '';
}

describe('readOptions', () => {
  it('adds the defaults', () => {
    const settings = readOptions(required);
    expect(settings).toEqual({
      ...required,
      product: svc,
      beforeUpdate: null,
      preparation: null,
      preparationMs: 3_600_000,
      idleMs: 3_600_000,
      buildServers: expect.any(Function),
      updaterPull: 'always',
      updaterEnvironment: {},
      containerName: 'svc-updater',
      workers: null,
      app: null,
      engine: 'unix:///var/run/docker.sock',
      updaterSocket: null,
      registryCredentials: null,
      restorePoint: false,
      ahead: false,
      afterStep: null,
      automatic: {
        ...{ enabled: false, from: '02:00', to: '05:00', days: [], age: 72, majors: false },
        timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      },
      directories: [],
      path: '/api/v1/instance/update',
      onEnd: expect.any(Function),
      log: expect.any(Function),
    });
    expect(settings.buildServers()).toEqual([]);
  });

  it('takes what is given', () => {
    const options: InstanceOptions = {
      ...required,
      updaterPull: 'missing',
      updaterEnvironment: { SVC_UPDATER_WAIT_TIMEOUT: '600' },
      containerName: 'svc2-updater',
      feed: {
        url: 'http://127.0.0.1:3000/releases',
        headers: { authorization: 'token x' },
        trust: { keys: [publisher().key] },
      },
      workers: [],
      app: 'web',
      engine: 'tcp://socket-proxy:2375',
      updaterSocket: '/run/user/1000/docker.sock',
      registryCredentials: '/root/.docker/config.json',
      restorePoint: true,
      ahead: { from: '23:00', to: '05:00' },
      afterStep: () => 'not yet',
      automatic: {
        ...{ enabled: true, from: '23:00', to: '01:30', timeZone: 'Europe/Berlin' },
        ...{ days: ['sat'], age: 0, majors: true },
      },
      directories: ['/opt/shared'],
      path: '/update',
      beforeUpdate: () => {},
      preparation: 'A dump is made first.',
      buildServers: () => [],
      onEnd: () => {},
      log: () => {},
    };
    expect(readOptions({ ...options, preparationTimeout: 60, idleTimeout: 0.5 })).toEqual({
      ...options,
      product: svc,
      preparationMs: 60_000,
      idleMs: 500,
    });
  });

  it('says in words what is expected, and leaves the words of a host that uses zod as well', () => {
    expect(mistakes({ ...required, version: 5 })).toContain('expected string, received number');
    const shared = globalThis as { __zod_globalConfig?: { localeError?: unknown } };
    expect(shared.__zod_globalConfig?.localeError).toBeUndefined();
  });

  it.each([
    ['1.4.2', 'v1.4.2'],
    ['1.6.0-canary.3', 'v1.6.0-canary.3'],
    ['v1.4.2', 'v1.4.2'],
    ['dev', 'dev'],
  ])('takes the version %s as %s', (version, told) => {
    expect(readOptions({ ...required, version }).version).toBe(told);
  });

  it('has warnings and errors on the console by default', () => {
    const { log } = readOptions(required);
    const said: unknown[][] = [];
    const { warn, error, info } = console;
    try {
      console.warn = console.error = console.info = (...args) => void said.push(args);
      log({ level: 'info', message: 'read' });
      log({ level: 'warn', message: 'late' });
      log({ level: 'error', message: 'away', cause: 'socket' });
    } finally {
      Object.assign(console, { warn, error, info });
    }
    expect(said).toEqual([['svc-updater: late'], ['svc-updater: away', 'socket']]);
  });

  it('leaves objects of the host as they are', () => {
    class Queue {
      held = 0;
      hold() {
        this.held++;
      }
      resume() {
        this.held = 0;
      }
      jobs() {
        return [];
      }
    }
    const queue = new Queue();
    const settings = readOptions({ ...required, queue });
    settings.queue.hold();
    expect([settings.queue === queue, queue.held]).toEqual([true, 1]);
  });

  it.each<[string, object, string]>([
    ['no version', { version: undefined }, 'version'],
    ['an empty version', { version: '' }, 'version'],
    ['an image with a space', { updaterImage: 'a b' }, 'updaterImage'],
    ['an image that is a flag', { updaterImage: '--privileged' }, 'updaterImage'],
    ['no image', { updaterImage: '' }, 'updaterImage'],
    ['no feed, unsaid', { feed: undefined }, 'feed'],
    ['a feed by file', { feed: { url: 'file:///etc/passwd' } }, 'feed.url'],
    ['a feed without a scheme', { feed: { url: 'example.org' } }, 'feed.url'],
    ['a feed as text', { feed: 'https://example.org' }, 'feed'],
    ['a trust without a key', { feed: { url: 'https://example.org', trust: { keys: [] } } }, 'feed.trust'],
    ['a trust in no key', { feed: { url: 'https://example.org', trust: { keys: ['anna'] } } }, 'feed.trust'],
    [
      'a trust in a workflow without its root',
      { feed: { url: 'https://example.org', trust: { identity: 'https://x/', issuer: 'https://x' } } },
      'feed.trust',
    ],
    ['a feed with more', { feed: { url: 'https://example.org', token: 'x' } }, 'feed'],
    ['an authorize that is none', { authorize: 'admin' }, 'authorize'],
    ['a queue that cannot hold', { queue: { resume: () => {}, jobs: () => [] } }, 'queue.hold'],
    ['no queue', { queue: null }, 'queue'],
    ['a queue as it was before', { queue: { hold() {}, release() {}, jobs: () => [] } }, 'queue.resume'],
    ['a store as text', { store: '/data' }, 'store'],
    ['a store that cannot be written', { store: { get: () => null } }, 'store.set'],
    ['no store', { store: undefined }, 'store'],
    ['a channel, which is in the store', { channel: { read: () => null } }, 'channel'],
    ['a dump by its command', { beforeUpdate: 'pg_dump' }, 'beforeUpdate'],
    ['a preparation that is none', { preparation: () => {} }, 'preparation'],
    ['no time for it', { preparationTimeout: 0 }, 'preparationTimeout'],
    ['time by a word', { idleTimeout: '1h' }, 'idleTimeout'],
    ['time without end', { idleTimeout: Number.POSITIVE_INFINITY }, 'idleTimeout'],
    ['servers as a list', { buildServers: [] }, 'buildServers'],
    ['another pull', { updaterPull: 'never' }, 'updaterPull'],
    ['a setting of somebody else', { updaterEnvironment: { DOCKER_HOST: 'x' } }, 'updaterEnvironment'],
    ['a container without a name', { containerName: '' }, 'containerName'],
    ['a container by its path', { containerName: '/svc-updater' }, 'containerName'],
    ['a worker with a space', { workers: ['worker', 'a b'] }, 'workers[1]'],
    ['a relative socket', { engine: 'unix://docker.sock' }, 'engine'],
    ['a socket by its path', { engine: '/run/docker.sock' }, 'engine'],
    ['an engine by http', { engine: 'http://socket-proxy:2375' }, 'engine'],
    ['an engine by ssh', { engine: 'ssh://host' }, 'engine'],
    ['an engine without a host', { engine: 'tcp://:2375' }, 'engine'],
    ['an app with a blank', { app: 'the app' }, 'app'],
    ["an updater's socket by address", { updaterSocket: 'unix:///run/docker.sock' }, 'updaterSocket'],
    ['credentials with a slash at the end', { registryCredentials: '/root/' }, 'registryCredentials'],
    ['a relative directory', { directories: ['/opt', './x'] }, 'directories[1]'],
    ['a path with a slash at the end', { path: '/update/' }, 'path'],
    ['a path without one', { path: 'update' }, 'path'],
    ['no path', { path: '/' }, 'path'],
    ['a path that climbs', { path: '/a/../b' }, 'path'],
    ['a path with a query', { path: '/update?x' }, 'path'],
    ['a path with a parameter', { path: '/:id/update' }, 'path'],
    ['a log that is none', { log: console }, 'log'],
    ['an unknown key', { patth: '/x' }, 'patth'],
  ])('names %s', (_, options, where) => {
    expect(mistakes({ ...required, ...options })).toContain(where);
  });

  it('goes by the product that is named', () => {
    const feed = 'https://forge.example.org/releases';
    const product = { name: 'larder', services: ['web', 'jobs'], feed };
    const { feed: _, ...others } = required;
    const read = readOptions({ ...others, product });
    expect(read).toMatchObject({
      product: productOf(product),
      containerName: 'larder-updater',
      feed: { url: feed },
    });
    expect(readOptions({ ...required, product }).feed).toBeNull();
    expect(readOptions({ ...required, product, containerName: 'other' }).containerName).toBe('other');
    expect(() => readOptions({ ...required, product, path: 'x' })).toThrow(
      /^larder-updater: wrong options\n/,
    );
  });

  it('wants the feed to be said where no product has one', () => {
    const { feed: _, ...others } = required;
    expect(mistakes(others)).toContain('feed');
    expect(mistakes({ ...others, product: { name: 'svc' } })).toContain('feed');
  });

  it('names what is wrong in the product beside the rest', () => {
    const text = mistakes({ ...required, path: 'x', product: { name: 'Larder' } });
    expect(text).toContain('→ at path');
    expect(text).toContain('wrong product: name should be a word of lower-case letters, digits and dashes');
    expect(text).toContain('→ at product');
  });

  it('names all of them at once', () => {
    const text = mistakes({ ...required, version: 1, path: 'x', log: 1, extra: 1 });
    for (const name of ['version', 'path', 'log', 'extra']) expect(text).toContain(name);
  });

  it.each([undefined, null, 'x', []])('wants an object, not %j', (options) => {
    expect(mistakes(options)).not.toBe('');
  });

  it('repeats no value', () => {
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
    ['v1.4.2', 'v1.4.2'],
    ['1.4.2', 'v1.4.2'],
    ['1.6.0-canary.3', 'v1.6.0-canary.3'],
    ['dev', 'dev'],
    ['2026-11-21', '2026-11-21'],
  ])('%s is %s', (version, told) => expect(readOptions({ ...required, version }).version).toBe(told));
});

describe('the log', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('goes to the console, but for what is of no interest there', () => {
    const said: unknown[][] = [];
    for (const level of ['info', 'log', 'debug', 'warn', 'error'] as const) {
      vi.spyOn(console, level).mockImplementation((...told) => void said.push([level, ...told]));
    }
    const { log } = readOptions(required);
    const cause = new Error('ENOENT');
    log({ level: 'info', message: 'the releases were read' });
    log({ level: 'warn', message: 'the feed cannot be read', cause });
    log({ level: 'error', message: 'the store cannot be written' });
    readOptions({ ...required, product: { name: 'larder' } }).log({ level: 'warn', message: 'x' });
    expect(said).toEqual([
      ['warn', 'svc-updater: the feed cannot be read', cause],
      ['error', 'svc-updater: the store cannot be written'],
      ['warn', 'larder-updater: x'],
    ]);
  });

  it("is the host's where it takes it", () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {});
    const log = vi.fn();
    readOptions({ ...required, log }).log({ level: 'error', message: 'x' });
    expect([log.mock.calls.length, error.mock.calls.length]).toEqual([1, 0]);
  });
});
