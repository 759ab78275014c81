import { describe, expect, it } from 'vitest';
import type { Notification } from '../../src/notify/notification.ts';
import { Notifier } from '../../src/notify/notifier.ts';
import { receiver } from './receiver.ts';

const finished: Notification = {
  event: 'finished',
  product: 'svc',
  version: 'v1.5.0',
  from: 'v1.4.2',
  outcome: 'broken',
  code: 'broken',
  message: 'broken (broken): <!channel> & \u202e\n',
  url: null,
};

/** Posts to this address, waits until all attempts are finished, and returns the warnings. */
async function posted(address: string, notification = finished): Promise<string[]> {
  const warnings: string[] = [];
  const notifier = new Notifier('svc', (message) => warnings.push(message), [0, 0]);
  notifier.addresses = [address];
  notifier.send(notification);
  await notifier.close(60_000);
  return warnings;
}

describe('a notification', () => {
  it('is posted as a JSON document', async () => {
    using hooks = await receiver();
    expect(await posted(`http://ann:secret@${hooks.host}/hook?id=1`)).toEqual([]);
    const [{ path, headers, body } = { path: '', headers: {}, body: {} }, ...others] = hooks.received;
    expect(others).toEqual([]);
    expect([path, headers['content-type'], headers.authorization]).toEqual([
      'POST /hook?id=1',
      'application/json',
      'Basic YW5uOnNlY3JldA==',
    ]);
    expect(body).toEqual({ ...finished, message: 'broken (broken): <!channel> & \\u202e\\u000a' });
  });

  it('is posted as a message of ntfy', async () => {
    using hooks = await receiver();
    await posted(`ntfy+http://${hooks.host}/alerts`);
    const offered = {
      ...finished,
      event: 'offered',
      outcome: null,
      url: 'https://forge.example/v1.5.0',
    } as const;
    await posted(`ntfy+http://${hooks.host}/alerts`, offered);
    const [first, second] = hooks.received;
    expect([first?.path, first?.body]).toEqual([
      'POST /',
      {
        topic: 'alerts',
        title: 'svc: update finished (broken)',
        message: 'broken (broken): <!channel> & \\u202e\\u000a',
        priority: 4,
        tags: ['warning'],
      },
    ]);
    expect(second?.body).toMatchObject({
      title: 'svc: update available',
      priority: 3,
      tags: ['package'],
      click: 'https://forge.example/v1.5.0',
    });
  });

  it('is posted to Slack as a text that mentions no channel', async () => {
    using hooks = await receiver();
    await posted(`slack+http://${hooks.host}/T/B/x`);
    expect(hooks.received[0]?.body).toEqual({
      text: 'svc: update finished (broken)\nbroken (broken): &lt;!channel&gt; &amp; \\u202e\\u000a',
    });
  });

  it.each(['😀', '\u0085'])('has its message truncated to 1000 characters: %j', async (character) => {
    using hooks = await receiver();
    await posted(`http://${hooks.host}`, { ...finished, message: character.repeat(5000) });
    const { message } = hooks.received[0]?.body ?? {};
    expect([...String(message)]).toHaveLength(1000);
  });
});

describe('posting', () => {
  it('tries three times', async () => {
    using hooks = await receiver((count) => (count < 3 ? 503 : 200));
    expect(await posted(`http://${hooks.host}`)).toEqual([]);
    expect(hooks.received).toHaveLength(3);
  });

  it('fails after three attempts with one warning that contains only the host', async () => {
    using hooks = await receiver(() => 500);
    expect(await posted(`http://ann:secret@${hooks.host}/token`)).toEqual([
      `cannot post the notification "finished" to ${hooks.host}: HTTP status 500`,
    ]);
    expect(hooks.received).toHaveLength(3);
  });

  it('reports an address without a server', async () => {
    const hooks = await receiver();
    hooks.close();
    expect(await posted(`http://${hooks.host}/token`)).toEqual([
      `cannot post the notification "finished" to ${hooks.host}: ECONNREFUSED`,
    ]);
  });

  it('reports a port that cannot be used', async () => {
    expect(await posted('http://127.0.0.1:6000/token')).toEqual([
      'cannot post the notification "finished" to 127.0.0.1:6000: bad port',
    ]);
  });

  it('does not follow a redirect', async () => {
    using hooks = await receiver(() => 307);
    expect(await posted(`http://${hooks.host}/hook`)).toMatchObject([expect.stringContaining('307')]);
    expect(new Set(hooks.received.map(({ path }) => path))).toEqual(new Set(['POST /hook']));
  });

  it('tolerates an error of the log function', async () => {
    const hooks = await receiver();
    hooks.close();
    const notifier = new Notifier('svc', () => {
      throw new Error('no log');
    }, []);
    notifier.addresses = [`http://${hooks.host}`];
    notifier.send(finished);
    expect(await notifier.close(60_000)).toBe(true);
  });

  it('stops without another attempt when the notifier is closed', async () => {
    let asked = () => {};
    const first = new Promise<void>((resolve) => {
      asked = resolve;
    });
    using hooks = await receiver(() => {
      asked();
      return null;
    });
    const warnings: string[] = [];
    const notifier = new Notifier('svc', (message) => warnings.push(message), [0, 0]);
    notifier.addresses = [`http://${hooks.host}`];
    notifier.send(finished);
    await first;
    expect(await notifier.close(0)).toBe(false);
    expect(warnings).toEqual([expect.stringContaining('no response before the timeout')]);
    expect(hooks.received).toHaveLength(1);
  });
});
