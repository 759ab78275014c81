import { describe, expect, it } from 'vitest';
import type { InstanceOptions } from '../../../src/server/contract/instance-options.ts';
import { attach, releaseFile, sha256 } from '../../feed/proofs.ts';
import { publisher } from '../../provenance/sign.ts';
import { forge, freshForges, freshRigs, rig, type Server, until } from './rig.ts';

const anna = publisher();
const mallory = publisher();
const always = { enabled: true, from: '00:00', to: '00:00', minAgeHours: 0 };

freshForges();
freshRigs();

async function booted(more: Partial<InstanceOptions> = {}, name = 'svc-app-1'): Promise<Server> {
  const feed = { url: forge.address('static'), trust: { keys: [anna.key] } };
  const one = await rig.booted({ name }, { feed, ...more });
  await until(async () => (await one.updates.status()).checkedAt !== null);
  return one;
}
const expected = [
  ...['app', 'ghcr.io/acme/svc'].flatMap((name) =>
    ['index', 'amd64', 'amd64 config'].flatMap((what) => ['--expect', `${name}=${sha256(what)}`]),
  ),
  ...['--expect-file', `compose.yaml=${sha256('compose')}`],
];
const commandOf = (name: string) =>
  rig.engine.containers.find((container) => container.name.startsWith(name))?.spec.Cmd?.slice(0, 17);
const ended = async ({ updates }: Server) => (await updates.findRunRecord())?.run.outcome;

describe('the updater', () => {
  it('gets the expected digests of a verified release', async () => {
    forge.publish(attach(forge, anna, releaseFile('v1.5.0')));
    const one = await booted();
    expect(await one.ask()).toMatchObject({ run: { to: 'v1.5.0' } });
    await until(() => ended(one));
    expect(commandOf('svc-updater')).toEqual(['update', '--target', 'v1.5.0', ...expected]);
  });

  it('gets the expected digests for a prefetch', async () => {
    forge.publish(attach(forge, anna, releaseFile('v1.5.0')));
    await booted({ prefetch: true });
    await until(() => commandOf('svc-updater-prefetch'));
    expect(commandOf('svc-updater-prefetch')).toEqual(['fetch', '--target', 'v1.5.0', ...expected]);
  });
});

describe('an unverified release', () => {
  it('is not offered, not prefetched, and not installed automatically', async () => {
    forge.publish(attach(forge, mallory, releaseFile('v1.5.0')));
    const one = await booted({ prefetch: true, automatic: always });
    expect(await one.updates.status()).toMatchObject({
      latest: null,
      next: null,
      updateAvailable: false,
      feedError: { message: 'v1.5.0 is not verified: it is not signed with a trusted key' },
    });
    const looks = () => one.host.calls('get').filter(({ args }) => args[0] === 'automatic').length;
    const before = looks();
    await until(() => looks() > before + 3);
    expect(rig.engine.containers.filter(({ name }) => name.startsWith('svc-updater'))).toEqual([]);
  });

  it.each([
    ['v1.5.0', 'v1.5.0 is not verified: it is not signed with a trusted key'],
    ['v9.9.9', 'v9.9.9 is not verified: the release feed does not contain this release'],
    ['canary', 'canary is not verified: the release feed does not contain this release'],
  ])('is rejected as a requested target: %s', async (target, message) => {
    forge.publish(attach(forge, mallory, releaseFile('v1.5.0')));
    const one = await booted();
    for (const allSteps of [false, true])
      for (const force of [false, true])
        expect(await one.ask({ target, allSteps, force })).toEqual({
          reason: { code: 'unproven', message },
        });
    expect(rig.engine.containers.filter(({ name }) => name.startsWith('svc-updater'))).toEqual([]);
    expect(rig.state.isHeld).toBe(false);
  });
});
