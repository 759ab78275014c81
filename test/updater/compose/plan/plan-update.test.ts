import { describe, expect, it } from 'vitest';
import { svcProduct } from '../../../../src/core/names/product.ts';
import { versionLabel } from '../../../../src/engine/objects/labels.ts';
import type { Installation } from '../../../../src/updater/compose/inspect/installation.ts';
import { logInstallation } from '../../../../src/updater/compose/inspect/log-installation.ts';
import {
  findVersionPrefix,
  newestRunningVersionOf,
} from '../../../../src/updater/compose/inspect/running-version.ts';
import { logPlan } from '../../../../src/updater/compose/plan/log-plan.ts';
import { container } from '../../../build.ts';
import { composeText, installed, planTo, rememberingLog } from '../../../build-plan.ts';

/** An installation with this pin; `label` is the version label of the running image. */
function product(
  pin: string,
  runningVersion: string | null,
  parts: { worker?: string; label?: string } = {},
) {
  const images = { app: `acme/home:${pin}`, ...(parts.worker && { worker: `acme/ml:${parts.worker}` }) };
  const labels = {
    ...container('app-1').labels,
    ...(parts.label !== undefined && { [versionLabel]: parts.label }),
  };
  const running = [container('app-1', { imageReference: images.app, labels })];
  const found = installed(
    { 'compose.yaml': composeText(images) },
    { services: { app: running, ...(parts.worker && { worker: [container('worker-1')] }) }, runningVersion },
  );
  return { ...found, prefix: findVersionPrefix(found.app.pin, running, svcProduct) };
}

/** The log of the plan, without log levels. */
function line(from: Installation, to: string | null): string {
  const { log, lines } = rememberingLog();
  logPlan(planTo(to, from), log);
  return lines.join('\n').replaceAll('info: ', '');
}

const place = 'image of app in compose.yaml line 3';

describe('planUpdate with versions in the format of the product', () => {
  it.each<[string, string | null, string | null, string]>([
    [
      '31.0.9-apache',
      '31.0.10-apache',
      '31.0.9',
      `31.0.9 → 31.0.10: change ${place} to 31.0.10-apache, recreate app`,
    ],
    ['2025.10', '2025.11', '2025.10', `2025.10 → 2025.11: change ${place} to 2025.11, recreate app`],
    ['2', '2.5.1', '2.4.0', '2.4.0 → 2.5.1: pull the image again, recreate app if the image has changed'],
    ['release', null, null, 'release: pull the image again, recreate app if the image has changed'],
  ])('describes the update from %s to %s while %s is running', (pin, to, running, expected) => {
    expect(line(product(pin, running, { label: running ?? '' }), to)).toBe(expected);
  });

  it('logs the version even if a secret variable has the same value', () => {
    const from = product('4.0.15.2941-alpine', '4.0.15.2941');
    const { log, lines } = rememberingLog();
    const secrets = ['4.0.15.2941', '4.0.16.2944'].map((value) => ({ key: 'HOME_VERSION', value }));
    log.addMaskRules(() => ({ secrets }));
    logInstallation(from, log);
    logPlan(planTo('4.0.16.2944', from), log);
    expect(lines.map((text) => text.replace(/(?:, pinned|: change).*/, ''))).toEqual([
      'info: app runs 4.0.15.2941',
      'info: 4.0.15.2941 → 4.0.16.2944',
    ]);
  });

  it('recommends a backup for a new major version, but not for a new year', () => {
    expect(planTo('32.0.1', product('31-apache', '31.0.9')).warnings).toEqual([
      '31.0.9 → 32.0.1 changes the major version. Back up the database first or use --restore-point; otherwise, the data cannot be restored',
    ]);
    expect(planTo('2026.1.0', product('2025.12.4', '2025.12.4')).warnings).toEqual([]);
  });

  it.each<[string, string | null, string, string, string]>([
    [
      '31.0.9-apache',
      '32.0.1-fpm',
      'pin-unsupported',
      `app is pinned to 31.0.9-apache (${place}), but 32.0.1-fpm is a different variant`,
      'Specify the release without -fpm: each pin keeps its own variant. To change the variant, set the tag manually, then run {compose} pull && {up}.',
    ],
    [
      '2025.8.3',
      'stable',
      'pin-unsupported',
      `app is pinned to 2025.8.3 (${place}), not to stable`,
      'Specify a release with --target, or set the tag stable manually, then run {compose} pull && {up}.',
    ],
    [
      'RELEASE.2025-09-01T00-00-00Z',
      'RELEASE.2025-10-15T17-29-55Z',
      'pin-unsupported',
      'RELEASE.2025-10-15T17-29-55Z is not a version and cannot be compared with the running version',
      `Set the tag manually (${place}), then run {compose} pull && {up}.`,
    ],
    [
      '2.1.0-ls47',
      '2.2.0',
      'pin-unsupported',
      `app is pinned to 2.1.0-ls47 (${place}), which is not a version and cannot be compared with 2.2.0`,
      `Set the new tag manually (${place}), then run {compose} pull && {up}.`,
    ],
    [
      'v2.1.0',
      null,
      'no-target',
      `app is pinned to v2.1.0 by ${place}`,
      'Specify the release with --target vX.Y.Z.',
    ],
    [
      '2025.10',
      '2025.9.4',
      'downgrade',
      `2025.9.4 is older than 2025.10, which app is pinned to (${place})`,
      'Choose a release that is newer than the running version. Downgrades are not supported.',
    ],
  ])('refuses the update from %s to %s: %s', (pin, to, code, message, advice) => {
    const running = /^\d+\.\d+\.\d+$/.test(pin) ? pin : null;
    expect(() => planTo(to, product(pin, running))).toThrow(
      expect.objectContaining({ code, message, advice }),
    );
  });

  it.each<[string, string, string | null]>([
    ['2', '2.4.1', '2.5.0'],
    ['canary', 'v1.5.9', '1.6.0-canary.10'],
    ['4.0.15.2941', '4.0.15.2940', '4.0.15.2941'],
  ])('never downgrades from %s to %s while %s is running', (pin, to, running) => {
    expect(() => planTo(to, product(pin, running))).toThrow(expect.objectContaining({ code: 'downgrade' }));
  });

  it('pulls a floating tag and its variants again, but not a release tag', () => {
    expect(planTo('release', product('release', null, { worker: 'release-cuda' })).to).toBe('release');
    expect(() => planTo('release', product('release', null, { worker: 'v2.1.0' }))).toThrow(
      expect.objectContaining({ code: 'no-target' }),
    );
  });
});

describe('planUpdate', () => {
  it('warns about a tag that is not a release tag, and does not treat an unknown version as old', () => {
    const from = product('edge', null);
    expect(planTo('v0.0.1', from).app.to).toBe('acme/home:edge');
    expect(planTo(null, from).warnings).toEqual([
      'app is pinned to edge, which is not a release tag; the update will keep the tag and pull its image again',
    ]);
  });

  it('refuses a pin that compose reads differently', () => {
    const files = { 'compose.yaml': composeText({ app: 'svc:v1.0.0' }) };
    const from = installed(files, { model: { name: 'svc', services: { app: { image: 'svc:v1.0.1' } } } });
    expect(() => planTo('v1.1.0', from)).toThrow(expect.objectContaining({ code: 'pin-unsupported' }));
  });

  it('uses the local image with pull_policy never', () => {
    const app = { image: 'svc:v1.0.0', pull_policy: 'never' };
    const from = installed(
      { 'compose.yaml': composeText({ app: 'svc:v1.0.0' }) },
      { model: { name: 'svc', services: { app } } },
    );
    expect(planTo('v1.1.0', from).app).toMatchObject({ shouldPull: false, to: 'svc:v1.1.0' });
  });
});

describe('findVersionPrefix', () => {
  it.each<[string, string, string | undefined, 'v' | '' | null]>([
    ['acme/home', 'stable', '2025.8.3', ''],
    ['acme/home', 'stable', undefined, null],
    ['registry.example:5000/acme/svc', 'latest', '1.0.0', 'v'],
  ])('returns for %s:%s with the label %s: %j', (repository, tag, label, expected) => {
    const image = `${repository}:${tag}`;
    const labels = label === undefined ? {} : { [versionLabel]: label };
    const { app } = installed(
      { 'compose.yaml': composeText({ app: image }) },
      { services: { app: [container('app-1', { imageReference: image, labels })] } },
    );
    expect(findVersionPrefix(app.pin, app.containers, svcProduct)).toBe(expected);
  });
});

describe('newestRunningVersionOf', () => {
  const running = (tag: string, label?: string) =>
    container('app-1', {
      imageReference: `acme/home:${tag}`,
      labels: label === undefined ? {} : { [versionLabel]: label },
    });
  it.each<[string, ReturnType<typeof running>[], string | null]>([
    ['a part, at least', [running('31-apache'), running('stable')], '31'],
    ['the newest of all', [running('4.0.15.2941'), running('4.0.9.3000')], '4.0.15.2941'],
    ['nothing', [running('stable'), running('2.1.0-ls47'), running('edge', '24.04')], null],
    ['what the label says, beside a floating tag', [running('latest', '1.4.2')], '1.4.2'],
    ['what the tag says, where a label says something else', [running('v1.4.2', '2.0.0')], '1.4.2'],
  ])('returns %s', (_, containers, expected) => {
    expect(newestRunningVersionOf(containers)).toBe(expected);
  });
});
