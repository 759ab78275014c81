import { describe, expect, it } from 'vitest';
import { maxBodyBytes } from '../../../src/server/http/read-json-body.ts';
import { MemoryService } from './memory-service.ts';
import { door, type Question, stream } from './send-request.ts';

function rig() {
  const service = new MemoryService();
  return { service, ...door(service) };
}

const bytes = (text: string) => new TextEncoder().encode(text);
/** JSON with a target, padded to `length` bytes. */
const padded = (length: number) => '{"target":"v1.5.0"}'.padEnd(length, ' ');
const halves = (text: string) => stream(bytes(text.slice(0, 9)), bytes(text.slice(9)));

describe('the size of a body', () => {
  it.each<[string, () => Question, number]>([
    ['exactly 16 KiB', () => ({ body: padded(16_384) }), 202],
    ['one byte more', () => ({ body: padded(16_385) }), 413],
    ['one byte more in chunks', () => ({ body: halves(padded(16_385)) }), 413],
    ['a length that lies low', () => ({ body: padded(16_385), headers: { 'content-length': '2' } }), 413],
  ])('is limited: %s', async (_, question, expected) => {
    const { ask, service } = rig();
    expect((await ask('POST', '', question())).status).toBe(expected);
    expect(service.calls).toEqual(expected === 202 ? ['start v1.5.0 for admin'] : []);
  });

  it('limits the reading of an endless body', async () => {
    const { ask } = rig();
    let sent = 0;
    let isCancelled = false;
    const endless = new ReadableStream({
      pull: (controller) => {
        sent += 1_024;
        controller.enqueue(new Uint8Array(1_024));
        // Ends only to protect the machine from a handler without a limit.
        if (sent > 1_000_000) controller.close();
      },
      // The handler must not wait for the cancellation.
      cancel: () => {
        isCancelled = true;
        return new Promise<void>(() => {});
      },
    });
    expect((await ask('POST', '', { body: endless })).status).toBe(413);
    expect(sent).toBeLessThan(maxBodyBytes + 4_096);
    expect(isCancelled).toBe(true);
  });

  it('does not matter if the connection breaks: 400, and nothing is logged', async () => {
    const { ask, service, logged } = rig();
    const broken = new ReadableStream({
      pull: (controller) => {
        controller.enqueue(bytes('{}'));
        controller.error(new Error('reset'));
      },
    });
    expect((await ask('POST', '', { body: broken })).status).toBe(400);
    expect([service.calls, logged]).toEqual([[], []]);
  });
});

describe('the type of a body', () => {
  it.each([
    ['application/json', 202],
    ['application/json; charset=utf-8', 202],
    [null, 415],
    ['text/plain', 415],
    ['text/plain, application/json', 415],
    ['application/x-www-form-urlencoded', 415],
  ])('is checked, %s: %i', async (type, expected) => {
    const { ask } = rig();
    // Bytes, because a string would get a default type.
    expect((await ask('POST', '', { body: bytes('{}'), type })).status).toBe(expected);
  });

  it.each([null, 'text/plain', 'application/json'])(
    'does not matter if the body is empty: %s',
    async (type) => {
      const { ask, service } = rig();
      expect((await ask('POST', '', { type })).status).toBe(202);
      expect((await ask('POST', '', { type, body: bytes('') })).status).toBe(202);
      expect((await ask('POST', '', { type, body: stream() })).status).toBe(202);
      expect(service.calls).toEqual(['start null for admin', 'start null for admin', 'start null for admin']);
      expect((await ask('PUT', '/channel', { type, body: bytes('') })).status).toBe(400);
      expect((await ask('PUT', '/channel', { type })).status).toBe(400);
    },
  );
});

describe('the content of a body', () => {
  it.each([
    ['{}', null],
    ['{"target":"v1.5.0"}', 'v1.5.0'],
    ['{"target":"canary"}', 'canary'],
    ['{"target":"v1.6.0-canary.3"}', 'canary'],
    ['\ufeff{"target":"v1.5.0"}', 'v1.5.0'],
  ])('%s starts an update with the target %s', async (body, target) => {
    const { ask, service } = rig();
    expect((await ask('POST', '', { body })).status).toBe(202);
    expect(service.calls).toEqual([`start ${target} for admin`]);
  });

  const notJson = 'The body is not valid JSON in UTF-8.';
  const must = 'The body is not valid:';
  const aTarget = `${must} target must be vX.Y.Z, vX.Y.Z-canary.N or canary.`;
  it.each<[string | Uint8Array, string]>([
    ['{', notJson],
    ['{"target":"v1.5.0"} x', notJson],
    ['['.repeat(16_384), notJson],
    [Uint8Array.of(0x22, 0xff, 0x22), notJson],
    ['null', `${must} it must be an object.`],
    ['{"target":"v1.5.0","forced":true}', `${must} it has an unknown key.`],
    ['{"force":"yes"}', `${must} force must be a boolean.`],
    ['{"when":"later"}', `${must} when must be one of now, idle.`],
    ['{"when":"idle","force":true}', '`when: "idle"` and `force: true` cannot be combined.'],
    ['{"__proto__":{"target":"v1.5.0"}}', `${must} it has an unknown key.`],
    ['{"settings":{"__proto__":"x"}}', `${must} settings has an unknown key.`],
    ['{"settings":{"A":"x","__proto__":"y"}}', `${must} settings has an unknown key.`],
    ['{"settings":{"A":"x\\ny"}}', `${must} settings.A must be one line of text.`],
    ['{"target":1,"x":1}', `${must} target must be a string; it has an unknown key.`],
    ...['', '1.5.0', 'v1.5.0\\n', 'v1.5.0-rc.1', 'latest', '--help', '../x', '$(id)'].map(
      (target): [string, string] => [`{"target":"${target}"}`, aTarget],
    ),
  ])('is rejected with 400: %j', async (body, detail) => {
    const { ask, service } = rig();
    const { status, json } = await ask('POST', '', { body, type: 'application/json' });
    expect([status, json.detail]).toEqual([400, detail]);
    expect(service.calls).toEqual([]);
  });

  it.each([
    ['{"channel":"canary"}', 200],
    ['{"channel":"nightly"}', 400],
    ['{"channel":"canary","target":"v1.5.0"}', 400],
  ])('sets the channel or is rejected, %s: %i', async (body, expected) => {
    const { ask, service } = rig();
    const { status, json } = await ask('PUT', '/channel', { body });
    expect(status).toBe(expected);
    expect(service.calls).toHaveLength(expected === 200 ? 1 : 0);
    if (body.includes('nightly')) expect(json.detail).toBe(`${must} channel must be one of stable, canary.`);
  });

  it.each(['{"target":"LONG"}', '{"target":"v1.5.0",LONG}', 'LONG'])(
    'is not repeated in the response: %s',
    async (form) => {
      const { ask } = rig();
      const long = 'evil<script>'.repeat(500);
      const { status, text } = await ask('POST', '', { body: form.replace('LONG', long) });
      expect(status).toBe(400);
      expect(text).not.toContain('evil');
      expect(text.length).toBeLessThan(300);
    },
  );
});
