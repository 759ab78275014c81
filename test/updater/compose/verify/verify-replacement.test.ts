import { describe, expect, it } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import {
  findChangedContainers,
  formatChangedAddressWarning,
  hasUnexpectedImage,
} from '../../../../src/updater/compose/verify/verify-replacement.ts';
import { changeover, container, movedService, record } from '../../../build.ts';

const made = (place: string, imageId = 'sha256:new'): Container =>
  container(place, { id: `${place}-new`, imageId });

describe('hasUnexpectedImage', () => {
  const keeps = movedService('sidecar', { follows: true, image: null });
  const replaced = changeover({ moved: [movedService('app'), movedService('worker'), keeps] });

  it.each<[what: string, Container, runsAnother: boolean]>([
    ['the app runs what was pulled', made('app-1'), false],
    ['the app runs the old image', container('app-1'), true],
    ['a worker runs an image of nobody', made('worker-1', 'sha256:other'), true],
    ['a follower keeps its image', made('sidecar-1', 'sha256:sidecar'), false],
  ])('compares the running image with the plan: %s', (_, found, expected) => {
    expect(hasUnexpectedImage(replaced, found)).toBe(expected);
  });

  it('compares each service with its own image', () => {
    const image = { reference: 'acme/worker:v1.1.0', id: 'sha256:new-worker' };
    const moved = [movedService('app'), movedService('worker', { image })];
    expect(hasUnexpectedImage(changeover({ moved }), made('worker-1', 'sha256:new-worker'))).toBe(false);
    expect(hasUnexpectedImage(changeover({ moved }), made('worker-1'))).toBe(true);
  });
});

it('hasUnexpectedImage accepts a tag that was published again with the same content', () => {
  const image = { reference: 'acme/svc:latest', id: 'sha256:index-2', manifests: ['sha256:amd64'] };
  const replaced = changeover({ moved: [movedService('app', { image })] });
  const app = { ...container('app-1'), imageId: 'sha256:index-1' };
  expect(hasUnexpectedImage(replaced, { ...app, imageManifest: 'sha256:amd64' })).toBe(false);
  expect(hasUnexpectedImage(replaced, { ...app, imageManifest: 'sha256:old' })).toBe(true);
});

describe('findChangedContainers', () => {
  const others = [container('database-1'), container('cache-1')];
  const before = [container('app-1'), container('worker-1'), ...others];
  const replaced = changeover({ containers: before.map((each) => record(each)) });
  const [database, cache] = others;
  if (database === undefined || cache === undefined) throw new Error('there are two');

  it.each<[situation: string, now: readonly Container[], names: string[]]>([
    ['nothing was replaced', before, []],
    ['app and worker were replaced', [made('app-1'), made('worker-1'), ...others], []],
    ['another one is gone', [database], ['svc-cache-1']],
    ['another one was added', [...before, made('cache-2')], ['svc-cache-2']],
    ['another service was added', [...before, made('mailer-1')], ['svc-mailer-1']],
    ['another one was replaced', [database, made('cache-1')], ['svc-cache-1']],
  ])('returns changed containers of other services: %s', (_, now, names) => {
    expect(findChangedContainers(replaced, now)).toEqual(names);
  });
});

it('lists changed addresses, and the proxies that may have cached them', () => {
  const addresses = [
    { name: 'svc-app-1', ips: ['10.0.0.3'], proxies: ['proxy'] },
    { name: 'svc-worker-1', ips: ['10.0.0.4', 'fd00::4'], proxies: ['proxy', 'web'] },
  ];
  const replaced = changeover({ words: { ...changeover().words, addresses } });
  const now = (app: string, worker: string[]) => [
    container('app-1', { ips: [app] }),
    container('worker-1', { ips: worker }),
  ];
  expect(formatChangedAddressWarning(replaced, now('10.0.0.3', ['10.0.0.4', 'fd00::4']))).toBe('');
  expect(formatChangedAddressWarning(replaced, now('10.0.0.4', ['10.0.0.3', 'fd00::4']))).toBe(
    'addresses have changed: svc-app-1 from 10.0.0.3 to 10.0.0.4, svc-worker-1 from 10.0.0.4 and fd00::4 to 10.0.0.3 and fd00::4; if an app is unreachable, run docker restart proxy web',
  );
  const restarting = [container('app-1', { ips: ['10.0.0.3'] }), container('worker-1', { ips: [] })];
  expect(formatChangedAddressWarning(replaced, restarting)).toBe('');
  expect(formatChangedAddressWarning(changeover(), now('10.0.0.4', []))).toBe('');
});
