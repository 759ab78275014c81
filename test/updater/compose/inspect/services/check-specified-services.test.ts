import { describe, expect, it } from 'vitest';
import { UpdateError } from '../../../../../src/core/errors/update-error.ts';
import type { Container } from '../../../../../src/engine/objects/container.ts';
import { checkSpecifiedServices } from '../../../../../src/updater/compose/inspect/services/check-specified-services.ts';
import { container } from '../../../../build.ts';
import { composeText, modelOf, projectFiles, updateOptions } from '../../../../build-plan.ts';

interface Case {
  images: Readonly<Record<string, string>>;
  env?: string;
  args: string;
  kind?: 'generated' | 'user-written';
  running?: readonly string[];
  followers?: readonly string[];
  migrations?: readonly string[];
  orphans?: readonly Container[];
}

/** The messages, or the lines of the error: `code: …`, details, message, `Next: advice`. */
function check({ images, env = '', args, kind = 'user-written', running, ...more }: Case): string[] {
  const { followers = [], migrations = [], orphans = [] } = more;
  const files = projectFiles({ 'compose.yaml': composeText(images), '.env': env });
  const known = {
    ...{ files, model: modelOf(files), kind, running: running ?? Object.keys(images) },
    ...{ followers, migrations, orphans },
  };
  try {
    return checkSpecifiedServices(updateOptions(...args.split(' ').filter(Boolean)), known);
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    expect(error.outcome).toBe('refused');
    // The log prints details before the message.
    const [first = '', ...others] = [...error.detail, error.message];
    return [`${error.code}: ${first}`, ...others, `Next: ${error.advice}`];
  }
}

const both = '--service server --service db';

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: compose's own
describe('a service that does not belong to the app', () => {
  it.each([
    ['postgres:16.4', 'v1.2.0', 'which is a database; databases are never updated'],
    ['other/tika:v1.2.0', 'v1.2.0', 'which is not from the publisher of server (ghcr.io/acme/server:v1.2.0)'],
    [
      'acme/sandbox:0.2.12',
      'v1.2.0',
      'but the image and version differ from those of server (ghcr.io/acme/ser',
    ],
  ])('is rejected if it is specified: %s beside %s', (image, tag, why) => {
    const images = { server: `ghcr.io/acme/server:${tag}`, db: image };
    const [said, ...rest] = check({ images, args: both });
    expect(said).toContain(`unrelated-service: db runs ${image}, `);
    expect(said).toContain(why);
    expect(rest).toEqual(['Next: To update without db, run the update with --service server.']);
  });

  it('is rejected with an advice that contains all services of the app, including unspecified ones', () => {
    const images = { server: 'acme/server:v1.2.0', cron: 'acme/cron:v1.2.0', db: 'postgres:16.4' };
    expect(check({ images, args: both }).at(-1)).toBe(
      'Next: To update without db, run the update with --service server --service cron.',
    );
    expect(check({ images, args: '--service server --service cron' })).toEqual([]);
    expect(check({ images, args: `${both} --exclude cron` }).at(-1)).toBe(
      'Next: To update without db, run the update with --service server.',
    );
  });

  it('is detected among official Docker images, which have different publishers', () => {
    const images = { app: 'nextcloud:32.0.1-apache', proxy: 'docker.io/library/nginx:32.0.1' };
    const [said] = check({ images, args: '--service app --service proxy' });
    expect(said).toContain('proxy runs docker.io/library/nginx:32.0.1, which is not from the publisher of');
  });

  it('is detected even if it shares the version variable of the app', () => {
    const images = { app: 'wordpress:${V:-6.2}', proxy: 'nginx:${V:-6.2}' };
    const [said] = check({ images, args: '--service app --service proxy' });
    expect(said).toContain('proxy runs nginx:6.2, which is not from the publisher of app (wordpress:6.2)');
    expect(check({ images, args: '--service app' })).toEqual([]);
  });

  it('is detected if it is a database that is specified as the app', () => {
    expect(check({ images: { db: 'postgres:16' }, args: '--service db' })[0]).toBe(
      'unrelated-service: db runs postgres:16, which is a database; databases are never updated',
    );
  });

  it.each([
    ['one repository, at another version', { server: 'acme/a:v1.1.0', db: 'docker.io/acme/a:v1.0.0' }],
    ['one publisher and version', { server: 'ghcr.io/acme/a:v1.1.0', db: 'acme/b:1.1.0-cuda' }],
    ['a registry without publishers', { server: 'r.example:5000/a:v1.1.0', db: 'r.example:5000/b:v1.1.0' }],
    [
      'a server built for a database',
      { server: 'acme/server-mysql:v1.0.0', db: 'acme/a-server-mysql:v1.0.0' },
    ],
  ])('is not detected for %s', (_, images) => {
    expect(check({ images, args: both })).toEqual([]);
  });
});

describe('a service that belongs with the app and is not specified', () => {
  it.each([
    [{ server: 'nextcloud:32', cron: 'docker.io/library/nextcloud:32' }, '', 'same repository: nextcloud'],
    [{ server: 'acme/a:${V:-edge}', cron: 'acme/b:${V:-edge}' }, '', 'same pin: the default of V in comp'],
    [{ server: 'acme/a:${V}', cron: 'acme/b:${V}' }, 'V=v1.0.0\n', 'same pin: V in .env line 1'],
    [{ server: 'acme/a:v1.4.0', cron: 'acme/b:1.4.0-cuda' }, '', 'same publisher and version: acme, 1.4.0'],
  ])('is rejected: %j', (images, env, bond) => {
    const [said, next] = check({ images, env, args: '--service server' });
    expect(said).toMatch(
      /^unlisted-services: cron belongs with server \(.*\) but was not specified with --service$/,
    );
    expect(said).toContain(bond);
    expect(next).toBe(
      'Next: Run the update with --service server --service cron, or add --exclude cron to keep it at the old version.',
    );
  });

  it('is rejected with an advice that contains all specified services', () => {
    const images = { a: 'acme/a:v1.0.0', b: 'acme/a:v1.0.0', c: 'acme/c:v1.0.0', d: 'acme/a:v1.0.0' };
    expect(check({ images, args: '--service b --service a --exclude c' })).toEqual([
      'unlisted-services: d belongs with b (same repository: acme/a) but was not specified with --service',
      'Next: Run the update with --service b --service a --service d, or add --exclude d to keep it at the old version.',
    ]);
  });

  it.each(['--exclude cron', '--exclude *'])('keeps its version with %s, and is reported', (exclude) => {
    const images = { server: 'acme/a:v1.0.0', cron: 'acme/a:v1.0.0', db: 'postgres:16' };
    expect(check({ images, args: `--service server ${exclude}` })).toEqual([
      'cron is excluded and will stay at acme/a:v1.0.0, although it belongs with server (same repository: acme/a)',
    ]);
  });

  it.each<[string, string, string, 'generated' | 'user-written', boolean]>([
    ['of the same repository', 'cron', 'acme/a:v0.9.0', 'user-written', true],
    ['that a release has dropped earlier', 'cron', 'acme/a:v0.9.0', 'generated', true],
    ['of the same release', 'cron', 'acme/cron:v1.0.0', 'user-written', true],
    ['that is the usual worker', 'worker', 'other/jobs:7', 'user-written', true],
    ['of another publisher', 'tool', 'other/jobs:v1.0.0', 'user-written', false],
  ])(
    'is detected among containers without a service: a container %s',
    (_, name, imageReference, kind, isRefused) => {
      const images = { app: 'acme/a:v1.0.0' };
      const orphans = [container(`${name}-1`, { imageReference })];
      const refusal = [
        `unlisted-services: svc-${name}-1 belongs with app, but the compose files no longer have the service ${name}`,
        `Next: Remove this container if you no longer need it: docker stop svc-${name}-1 && docker rm svc-${name}-1. Otherwise, add ${name} back to the compose file, or keep the old version running with --exclude ${name}.`,
      ];
      expect(check({ images, args: '', kind, orphans })).toEqual(isRefused ? refusal : []);
      expect(check({ images, args: `--exclude ${name}`, kind, orphans }).join()).not.toContain(
        'belongs with',
      );
    },
  );

  it.each<[string, Partial<Case>]>([
    ['it has no container', { running: ['app', 'db'] }],
    ['a release brings its own compose file', { kind: 'generated' }],
    ['it is recreated with the app, by its pin', { followers: ['cron'] }],
  ])('is accepted if %s', (_, changes) => {
    const images = { app: 'acme/a:${V}', cron: 'acme/a:${V}' };
    expect(check({ images, env: 'V=v1.0.0', args: '--service app', ...changes })).toEqual([]);
  });

  it('is rejected if no service is specified, with a shared pin or its own pin', () => {
    const images = { app: 'nextcloud:31', cron: 'nextcloud:31', worker: 'nextcloud:31', db: 'mariadb:11' };
    const refused = (services: string) => [
      'unlisted-services: cron belongs with app (same repository: nextcloud) but was not specified with --service',
      `Next: Run the update with ${services}, or add --exclude cron to keep it at the old version.`,
    ];
    expect(check({ images, args: '' })).toEqual(refused('--service app --service worker --service cron'));
    const { worker: _, ...without } = images;
    expect(check({ images: without, args: '' })).toEqual(refused('--service app --service cron'));
    const shared = { app: 'nextcloud:${V}', cron: 'nextcloud:${V}' };
    expect(check({ images: shared, env: 'V=31', args: '' })).toEqual(refused('--service app --service cron'));
    expect(check({ images: shared, env: 'V=31', args: '--exclude cron' })).toHaveLength(1);
    expect(check({ images, args: '', kind: 'generated' })).toEqual([]);
  });

  it.each([
    ['many products of one publisher at latest', { server: 'ls/sonarr:latest', cron: 'ls/radarr:latest' }],
    [
      'a database of the same publisher and version',
      { server: 'acme/a:v1.0.0', cron: 'acme/postgres:v1.0.0' },
    ],
    ['another publisher', { server: 'acme/a:v1.0.0', cron: 'other/a:v1.0.0' }],
    ['another version', { server: 'acme/a:v1.0.0', cron: 'acme/b:v1.1.0' }],
  ])('is not detected for %s', (_, images) => {
    expect(check({ images, args: '--service server' })).toEqual([]);
  });
});
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: compose's own
