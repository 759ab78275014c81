import { describe, expect, it } from 'vitest';
import { createProduct } from '../../../src/core/names/product.ts';
import { validateInstanceOptions } from '../../../src/server/contract/validate-options.ts';
import {
  buildUpdaterContainerSpec,
  initialRunFactsOf,
  isUpdaterActive,
  isUpdaterOfInstance,
} from '../../../src/server/deployment/updater-container.ts';
import { parseCommandLine } from '../../../src/updater/run/options/command-line.ts';
import { updateOptionsOf } from '../../../src/updater/run/options/update-options.ts';
import { details, plainOptions } from './container-details.ts';
import { homeOf } from './deployment-of.ts';

const home = homeOf();
const origin = { id: 'r1', from: 'v1.4.2', to: 'v1.5.0', startedAt: '2026-11-21T10:00:00.000Z' };
const image = 'acme/svc-updater:v1.0.0';
const order = {
  ...{ command: ['update', '--target', 'v1.5.0'] as const, image, services: null },
  initialFacts: origin,
};
const settings = validateInstanceOptions(plainOptions);

/** No notifications, and the id of the server's container, which the updater trusts. */
const own = ['SVC_UPDATER_NOTIFY=none', `SVC_UPDATER_CONTAINER=${'c'.repeat(64)}`];

describe("the updater's container", () => {
  const spec = buildUpdaterContainerSpec(home, settings, order);

  it('has a name, labels and a command', () => {
    expect(spec).toMatchObject({
      name: 'svc-updater',
      Image: 'acme/svc-updater:v1.0.0',
      Cmd: ['update', '--target', 'v1.5.0', '--project', 'svc', '--dir', '/opt/svc', '--log', 'json'],
      // The image of `svc-updater serve` may have a health check.
      Healthcheck: { Test: ['NONE'] },
      Env: ['DOCKER_HOST=unix:///run/docker.sock', ...own],
      StopTimeout: 120,
      Labels: { 'svc-updater.project': 'svc', 'svc-updater.directory': '/opt/svc', 'svc-updater.run': 'r1' },
    });
    // With compose labels, the container would count as part of the project.
    expect(Object.keys(spec.Labels ?? {}).join()).not.toContain('com.docker.compose');
  });

  it('gets the product if it is not svc', () => {
    const updaterEnvironment = { SVC_UPDATER_WAIT_TIMEOUT: '600' };
    const product = createProduct({ name: 'larder', services: ['web', 'jobs'] });
    const given = { ...settings, product, containerName: 'x-updater', updaterEnvironment };
    const { name, Env } = buildUpdaterContainerSpec(home, given, order);
    const [, told = '', ...others] = Env ?? [];
    expect([name, ...others]).toEqual(['x-updater', 'SVC_UPDATER_WAIT_TIMEOUT=600', ...own]);
    const [key = '', value] = told.split('=');
    expect(updateOptionsOf(parseCommandLine([], { [key]: value }))).toMatchObject({
      product: { ...product, containerName: 'x-updater' },
      app: 'web',
      workers: ['jobs'],
    });
  });

  it('saves the data if the option is set', () => {
    const { Env } = buildUpdaterContainerSpec(home, { ...settings, restorePoint: true }, order);
    expect(Env).toContain('SVC_UPDATER_RESTORE_POINT=1');
  });

  it('limits the downtime if the option is set', () => {
    const { Env } = buildUpdaterContainerSpec(home, { ...settings, maxDowntimeSeconds: 899.5 }, order);
    expect(Env).toContain('SVC_UPDATER_MAX_DOWNTIME=900');
    expect(buildUpdaterContainerSpec(home, settings, order).Env?.join()).not.toContain('MAX_DOWNTIME');
  });

  it('removes old images if the option is set', () => {
    const { Env } = buildUpdaterContainerSpec(home, { ...settings, removeOldImages: true }, order);
    expect(Env).toContain('SVC_UPDATER_REMOVE_OLD_IMAGES=1');
  });

  it('has labels that identify a rollback', () => {
    const back = { ...origin, kind: 'rollback', by: 'anna' } as const;
    const { Cmd, Labels } = buildUpdaterContainerSpec(home, settings, {
      ...order,
      command: ['rollback', '--yes'],
      initialFacts: back,
    });
    expect(Cmd).toEqual(['rollback', '--yes', '--project', 'svc', '--dir', '/opt/svc', '--log', 'json']);
    expect(initialRunFactsOf(details({ Config: { Labels } }, { args: Cmd ?? [] }))).toEqual(back);
  });

  it('gets the services if they are not the default ones', () => {
    const services = ['web', 'jobs'];
    const { Cmd, Env } = buildUpdaterContainerSpec(home, settings, { ...order, services });
    expect(Cmd?.slice(-4)).toEqual(['--service', 'web', '--service', 'jobs']);
    // Otherwise, the run would be refused because of a third service with the same image.
    expect(Env).toContain('SVC_UPDATER_EXCLUDE=*');
    const given = { ...settings, updaterEnvironment: { SVC_UPDATER_EXCLUDE: 'cron' } };
    expect(buildUpdaterContainerSpec(home, given, { ...order, services }).Env?.slice(1)).toEqual([
      'SVC_UPDATER_EXCLUDE=cron',
      ...own,
    ]);
  });
});

describe("a container with the updater's name", () => {
  const labelled = (project: string, directory: string, ...binds: string[]) =>
    details({
      Config: { Labels: { 'svc-updater.project': project, 'svc-updater.directory': directory } },
      HostConfig: { Binds: binds },
    });
  const byHand = (...binds: string[]) => details({ HostConfig: { Binds: binds } });

  it.each([
    ['of the same project and directory', labelled('svc', '/opt/svc', '/opt/svc:/opt/svc'), true],
    ['of another project on the directory', labelled('other', '/opt/svc', '/opt/svc:/opt/svc'), false],
    ['of another directory', labelled('svc', '/opt/other', '/opt/other:/opt/other'), false],
    // Users of a platform can choose labels, and mount their own files.
    ['of a user who copied the labels', labelled('svc', '/opt/svc'), false],
    ['of a user with a volume', labelled('svc', '/opt/svc', 'data:/opt/svc'), false],
    ['of a user with another directory', labelled('svc', '/opt/svc', '/home/ben:/opt/svc'), false],
    ['of a user below the directory', labelled('svc', '/opt/svc', '/opt/svc/data:/opt/svc'), false],
    ['started by hand on the directory', byHand('/opt/svc:/opt/svc'), true],
    ['started by hand on a directory above', byHand('/opt:/host'), true],
    ['started by hand on another', byHand('/opt/svc2:/opt/svc'), false],
  ])('%s belongs to this instance: %s', (_, container, expected) => {
    expect(isUpdaterOfInstance(container, home)).toBe(expected);
  });

  const now = Date.parse('2026-11-21T10:00:30Z');
  it.each([
    ['running', '2026-11-20T10:00:00Z', true],
    ['created', '2026-11-21T10:00:00Z', true],
    ['created', '2026-11-21T09:00:00Z', false],
    ['exited', '2026-11-21T10:00:00Z', false],
  ])('that has been %s since %s is running or starting: %s', (Status, createdAt, expected) => {
    expect(isUpdaterActive(details({ State: { Status } }, { createdAt }), now)).toBe(expected);
  });

  it('provides the available facts about a manually started run', () => {
    expect(initialRunFactsOf(details({}, { args: ['--target', 'v1.5.0'] }))).toEqual({
      id: 'c'.repeat(12),
      kind: 'update',
      from: null,
      to: 'v1.5.0',
      startedAt: '2026-11-21T10:00:00.123Z',
      by: null,
    });
    expect(initialRunFactsOf(details({}, { args: ['rollback', '--yes'] })).kind).toBe('rollback');
  });
});
