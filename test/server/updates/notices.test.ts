import { beforeEach, describe, expect, it } from 'vitest';
import { channelFile, hostChannel, recallsOf } from '../../feed/channel-copies.ts';
import { type Received, receiver } from '../../notify/receiver.ts';
import { publisher } from '../../provenance/sign.ts';
import { goodRun } from '../../rig/engine-double/script.ts';
import { forge, freshForges, freshRigs, rig, type Server, until } from './rig.ts';

freshForges();
freshRigs();
beforeEach(() => {
  forge.publish('v1.5.0');
});

/** Two servers of one instance that notify these addresses. */
async function servers(...notify: string[]): Promise<[Server, Server]> {
  const feed = { url: forge.address('static') };
  const booted = async (name: string) => {
    const one = await rig.booted({ name }, { feed, notify });
    await until(async () => (await one.updates.status()).checkedAt !== null);
    return one;
  };
  return [await booted('svc-app-1'), await booted('svc-app-2')];
}

/** Sorted, because posts do not wait for each other. */
const told = (received: readonly Received[]) =>
  received
    .map(({ body: { event, version, from, outcome } }) => [event, version, from, outcome].join(' '))
    .sort();

/** Waits until each server has read its store several more times. */
async function someLooks(all: readonly Server[]): Promise<void> {
  for (const { host } of all) {
    const looks = () => host.calls('get').filter(({ args }) => args[0] === 'history').length;
    const before = looks();
    await until(() => looks() >= before + 6);
  }
}

describe('notifications of a server', () => {
  it('are sent once by two servers: for a release, and for the start and outcome of a run', async () => {
    using hooks = await receiver();
    const both = await servers(`http://${hooks.host}/hook`);
    await until(() => hooks.received.length === 1);
    rig.engine.updaterDoes(goodRun('v1.4.2', 'v1.5.0'));
    await both[0].ask();
    await until(() => hooks.received.length >= 3);
    await someLooks(both);
    expect(told(hooks.received)).toEqual([
      'finished v1.5.0 v1.4.2 updated',
      'offered v1.5.0 v1.4.2 ',
      'started v1.5.0 v1.4.2 ',
    ]);
  });

  it('report a recall and a security update', async () => {
    using hooks = await receiver();
    const urgent = { below: 'v1.5.0', why: 'It leaks data' };
    hostChannel(forge, channelFile({ urgent, recalled: recallsOf('v1.4.2') }), publisher());
    await servers(`http://${hooks.host}/hook`);
    await until(() => hooks.received.length === 2);
    expect(told(hooks.received)).toEqual(['recalled v1.4.2 v1.4.2 ', 'urgent v1.5.0 v1.4.2 ']);
    const texts = hooks.received.map(({ body }) => String(body.message)).join();
    expect(texts).toContain('It leaks data');
  });

  it('do not affect a run if an address does not respond', async () => {
    using hooks = await receiver(() => null);
    const [one] = await servers(`http://${hooks.host}/hook`);
    await until(() => hooks.received.length === 1);
    rig.engine.updaterDoes(goodRun('v1.4.2', 'v1.5.0'));
    await one.ask();
    await until(() => one.told.includes('end updated'));
    await one.updates.close();
  });
});
