import { afterEach, describe, expect, it, vi } from 'vitest';
import { pieceLimit } from '../../../src/instance/http/read-body.ts';
import { door, stream } from './ask.ts';
import { announced, MemoryService } from './memory-service.ts';

function rig() {
  const service = new MemoryService();
  const { ask, logged } = door(service);
  const send = (body: unknown, type: string | null = 'application/octet-stream') =>
    ask('PUT', `/archive?sha256=${announced.sha256}&offset=0`, { body, type });
  return { service, send, logged };
}

describe('a piece', () => {
  afterEach(() => void vi.useRealTimers());

  it.each([
    [new Uint8Array(pieceLimit), 200],
    [new Uint8Array(pieceLimit + 1), 413],
    [stream(new Uint8Array(pieceLimit), new Uint8Array(1)), 413],
    [new Uint8Array(), 200],
    [undefined, 200],
  ])('has 8 MiB at most', async (body, expected) => {
    expect((await rig().send(body)).status).toBe(expected);
  });

  it.each([null, 'application/json', 'text/plain', 'multipart/form-data'])(
    'is bytes: %s is another type',
    async (type) => {
      const { send, service } = rig();
      expect((await send(Buffer.from('{}'), type)).status).toBe(415);
      expect(service.received.length).toBe(0);
    },
  );

  it('is taken as far as it came where the line breaks', async () => {
    const { send, service, logged } = rig();
    const chunks = [Buffer.from('rel'), Buffer.from('ease')];
    const broken = new ReadableStream({
      pull: (controller) => {
        const next = chunks.shift();
        if (next) controller.enqueue(next);
        else controller.error(new Error('reset'));
      },
    });
    expect((await send(broken)).status).toBe(400);
    expect([service.received.toString(), logged]).toEqual(['release', []]);
  });

  it('may take its time as long as something comes, and five minutes in all', async () => {
    vi.useFakeTimers();
    const { send, service } = rig();
    let isCancelled = false;
    let timer: NodeJS.Timeout | undefined;
    const slow = new ReadableStream({
      start: (controller) => {
        timer = setInterval(() => controller.enqueue(Buffer.from('x')), 9_000);
      },
      cancel: () => {
        isCancelled = true;
        clearInterval(timer);
      },
    });
    let status = 0;
    const sent = send(slow).then((answer) => {
      ({ status } = answer);
    });
    await vi.advanceTimersByTimeAsync(299_000);
    expect([status, service.received.length]).toEqual([0, 33]);
    await vi.advanceTimersByTimeAsync(1_000);
    await sent;
    expect([status, isCancelled]).toEqual([408, true]);
  });

  it('does not keep a server that closes', async () => {
    const { send, service } = rig();
    const silent = new ReadableStream({ pull: () => service.close() }, { highWaterMark: 0 });
    const { status, headers } = await send(silent);
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
  });
});
