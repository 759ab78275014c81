import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InstanceOptions } from '../../../src/instance/contract/options.ts';
import { type Forge, startForge } from '../../feed/forge.ts';
import { attach, releaseFile, sha256 } from '../../feed/proofs.ts';
import { publisher } from '../../provenance/sign.ts';
import { goodRun } from '../../rig/engine-double/script.ts';
import { Rig, type Server, until } from './rig.ts';

const anna = publisher();
const mallory = publisher();
const always = { enabled: true, from: '00:00', to: '00:00', age: 0 };

let rig: Rig;
let forge: Forge;
beforeEach(async () => {
  rig = await Rig.start();
  forge = await startForge();
});
afterEach(async () => {
  await rig.close();
  await forge.close();
  expect([...rig.state.violations, ...rig.rejections]).toEqual([]);
});

async function booted(more: Partial<InstanceOptions> = {}, name = 'svc-app-1'): Promise<Server> {
  const feed = { url: forge.address('static'), trust: { keys: [anna.key] } };
  const one = await rig.server({ name }, { feed, ...more });
  await one.updates.boot();
  await until(async () => (await one.updates.status()).checkedAt !== null);
  return one;
}
const expected = [
  ...['index', 'amd64', 'amd64 config'].flatMap((what) => ['--expect', `app=${sha256(what)}`]),
  ...['--expect-file', `compose.yaml=${sha256('compose')}`],
];
const commandOf = (name: string) =>
  rig.engine.containers.find((container) => container.name.startsWith(name))?.spec.Cmd?.slice(0, 11);
const ended = async ({ updates }: Server) => (await updates.record())?.run.outcome;

describe('the updater', () => {
  it('is told what to expect of a release that is proven', async () => {
    forge.publish(attach(forge, anna, releaseFile('v1.5.0')));
    const one = await booted();
    expect(await one.ask()).toMatchObject({ run: { to: 'v1.5.0' } });
    await until(() => ended(one));
    expect(commandOf('svc-updater')).toEqual(['update', '--target', 'v1.5.0', ...expected]);
  });

  it('is told the same where it fetches ahead', async () => {
    forge.publish(attach(forge, anna, releaseFile('v1.5.0')));
    await booted({ ahead: true });
    await until(() => commandOf('svc-updater-ahead'));
    expect(commandOf('svc-updater-ahead')).toEqual(['fetch', '--target', 'v1.5.0', ...expected]);
  });

  it('is told of the newest canary that is proven', async () => {
    forge.publish(
      attach(forge, mallory, releaseFile('v1.6.0-canary.4')),
      attach(forge, anna, releaseFile('v1.6.0-canary.3')),
    );
    rig.state.store.set('channel', 'canary');
    const one = await booted();
    expect(await one.ask({ target: 'canary' })).toMatchObject({ run: { to: 'v1.6.0-canary.3' } });
    await until(() => ended(one));
    expect(commandOf('svc-updater')).toEqual(['update', '--target', 'canary', ...expected]);
  });

  it('is told of a canary once the channel is set, by whichever server', async () => {
    // That one of the channel is known already, behind what runs, tells nothing.
    forge.publish(attach(forge, anna, releaseFile('v1.6.0-canary.3')), 'v1.4.0-canary.1');
    const [one, other] = [await booted(), await booted({}, 'svc-app-2')];
    const next = async ({ updates }: Server) => (await updates.status()).next?.version;
    expect([await next(one), await next(other)]).toEqual([undefined, undefined]);
    await one.updates.setChannel('canary');
    for (const each of [one, other]) await until(async () => (await next(each)) === 'v1.6.0-canary.3');
  });

  it('is told nothing where nobody asks for proof', async () => {
    forge.publish('v1.5.0');
    const one = await booted({ feed: { url: forge.address('static') } });
    await one.ask();
    await until(() => ended(one));
    expect(commandOf('svc-updater')?.slice(0, 4)).toEqual(['update', '--target', 'v1.5.0', '--project']);
    expect(forge.seen.filter(({ path }) => path.includes('/download/'))).toEqual([]);
  });
});

describe('a release that is not proven', () => {
  it('is not offered, not fetched ahead, and does not start by itself', async () => {
    forge.publish(attach(forge, mallory, releaseFile('v1.5.0')));
    const one = await booted({ ahead: true, automatic: always });
    expect(await one.updates.status()).toMatchObject({
      latest: null,
      next: null,
      updateAvailable: false,
      feedError: { message: 'v1.5.0 is not proven: it is signed by none of the keys that are trusted' },
    });
    const looks = () => one.host.calls('get').filter(({ args }) => args[0] === 'automatic').length;
    const before = looks();
    await until(() => looks() > before + 3);
    expect(rig.engine.containers.filter(({ name }) => name.startsWith('svc-updater'))).toEqual([]);
  });

  it('would have started by itself, had it been', async () => {
    forge.publish(attach(forge, anna, releaseFile('v1.5.0')));
    await booted({ automatic: always });
    await until(() => rig.past[0]?.run.by === 'automatic');
    expect(commandOf('svc-updater')).toEqual(['update', '--target', 'v1.5.0', ...expected]);
  });

  it.each([
    ['v1.5.0', 'v1.5.0 is not proven: it is signed by none of the keys that are trusted'],
    ['v9.9.9', 'v9.9.9 is not proven: it is none of the releases that were read last'],
    ['canary', 'canary is not proven: it is none of the releases that were read last'],
  ])('is refused where somebody asks for it: %s', async (target, message) => {
    forge.publish(attach(forge, mallory, releaseFile('v1.5.0')));
    const one = await booted();
    for (const through of [false, true])
      for (const force of [false, true])
        expect(await one.ask({ target, through, force })).toEqual({ reason: { code: 'unproven', message } });
    expect(rig.engine.containers.filter(({ name }) => name.startsWith('svc-updater'))).toEqual([]);
    expect(rig.state.isHeld).toBe(false);
  });

  it('is no step of a path', async () => {
    const requires = 'v1.5.0';
    forge.publish(
      attach(forge, anna, releaseFile('v1.6.0', { requires })),
      attach(forge, mallory, releaseFile('v1.5.0')),
    );
    const one = await booted();
    expect(await one.updates.status()).toMatchObject({
      latest: { version: 'v1.6.0' },
      next: null,
      upToDate: { code: 'upgrade-step' },
    });
  });

  it('is waited for by a path that goes on by itself', async () => {
    rig.engine.updaterDoes(goodRun('v1.4.2', 'v1.5.0'));
    forge.publish(
      attach(forge, anna, releaseFile('v1.6.0', { requires: 'v1.5.0' })),
      attach(forge, anna, releaseFile('v1.5.0')),
    );
    const one = await booted();
    await one.ask({ target: 'v1.6.0', through: true });
    await until(() => rig.past.length === 1 && rig.open === null && !rig.state.isHeld);
    await one.updates.close();
    forge.publish(attach(forge, mallory, releaseFile('v1.6.0')));
    const next = await booted({ version: 'v1.5.0' }, 'svc-app-2');
    const says = 'v1.6.0 is not proven: it is signed by none of the keys that are trusted';
    await until(async () => (await next.updates.status()).between?.says === says);
    await next.updates.cancel('anna');
  });
});
