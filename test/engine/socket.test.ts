import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EngineSocket } from '../../src/engine/socket.ts';

// What a real engine does is tried in test/e2e/server*.test.ts; here is what one does not do on demand.

async function socketThat(answers: RequestListener): Promise<EngineSocket> {
  const directory = await mkdtemp(join(tmpdir(), 'engine-socket-'));
  const path = join(directory, 'engine.sock');
  const server = createServer(answers);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await rm(directory, { recursive: true, force: true });
  });
  return new EngineSocket(path);
}

const never = new AbortController().signal;

/** A piece of a log as the engine frames it. */
function frame(text: string): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt8(1, 0);
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const read: string[] = [];
  for await (const line of lines) read.push(line);
  return read;
}

describe('the socket of the engine', () => {
  it('is a fault without a status where nothing listens', async () => {
    const engine = new EngineSocket('/nonexistent/engine.sock');
    await expect(engine.inspect('svc-updater')).rejects.toMatchObject({
      name: 'EngineFault',
      status: null,
      message: expect.stringContaining('ENOENT'),
    });
  });

  it('goes to the socket, whatever DOCKER_HOST says', async () => {
    const { DOCKER_HOST } = process.env;
    process.env.DOCKER_HOST = 'tcp://192.0.2.1:1';
    onTestFinished(() => {
      if (DOCKER_HOST === undefined) delete process.env.DOCKER_HOST;
      else process.env.DOCKER_HOST = DOCKER_HOST;
    });
    const engine = await socketThat((_, answer) =>
      answer.writeHead(404).end('{"message":"no such container"}'),
    );
    expect(await engine.inspect('svc-updater')).toBeNull();
  });

  it.each(['', '../info', 'a/b', 'a?b', 'a b', '.'])(
    'is not asked for a container named %j',
    async (name) => {
      const asked: string[] = [];
      const engine = await socketThat(({ url = '' }, answer) => {
        asked.push(url);
        answer.writeHead(200).end('{}');
      });
      expect(await engine.inspect(name)).toBeNull();
      expect(asked).toEqual([]);
    },
  );

  it("gives a refusal in the engine's words", async () => {
    const engine = await socketThat((_, answer) =>
      answer.writeHead(409, { 'content-type': 'application/json' }).end('{"message":"the name is taken"}'),
    );
    await expect(engine.create({ name: 'x' })).rejects.toMatchObject({
      status: 409,
      message: 'the name is taken',
    });
  });

  it('ends a log where the connection breaks, with what came before', async () => {
    const engine = await socketThat((_, answer) => {
      answer.writeHead(200, { 'content-type': 'application/vnd.docker.raw-stream' });
      answer.write(Buffer.concat([frame('one\ntw'), frame('o ü\r\nthr')]));
      setTimeout(() => answer.destroy(), 50);
    });
    const read: string[] = [];
    const reading = (async () => {
      for await (const line of engine.logs('x', never)) read.push(line);
    })();
    await expect(reading).rejects.toMatchObject({ name: 'EngineFault', status: null });
    expect(read).toEqual(['one', 'two ü']);
  });

  it('reads a log to its end, characters cut between two pieces included', async () => {
    const bytes = Buffer.from('grün\nrot');
    const engine = await socketThat((_, answer) => {
      answer.write(frame(''));
      for (const byte of bytes) {
        const head = Buffer.alloc(8);
        head.writeUInt8(2, 0);
        head.writeUInt32BE(1, 4);
        answer.write(Buffer.concat([head, Buffer.from([byte])]));
      }
      answer.end();
    });
    expect(await all(engine.logs('x', never))).toEqual(['grün', 'rot']);
  });

  it('lets go of a log when the signal is given', async () => {
    const engine = await socketThat((_, answer) => {
      answer.write(frame('one\n'));
    });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    expect(await all(engine.logs('x', controller.signal))).toEqual(['one']);
  });

  it('fails a pull for an error in its stream, or a stream that breaks', async () => {
    const lines = ['{"status":"Pulling fs layer","id":"a"}', '{"error":"no space left on device"}'];
    const failing = await socketThat((_, answer) => answer.end(lines.join('\r\n')));
    const reference = { repository: 'acme/svc-updater', tag: 'v1' };
    await expect(failing.pull(reference, null, () => {}, never)).rejects.toMatchObject({
      message: 'no space left on device',
    });
    const breaking = await socketThat((_, answer) => {
      answer.write(`${lines[0]}\n`);
      setTimeout(() => answer.destroy(), 20);
    });
    await expect(breaking.pull(reference, null, () => {}, never)).rejects.toMatchObject({
      name: 'EngineFault',
    });
  });

  it('tells how far a pull is, weighted by bytes', async () => {
    const layer = (id: string, status: string, current?: number, total?: number) =>
      `${JSON.stringify({ id, status, progressDetail: { current, total } })}\n`;
    const engine = await socketThat((_, answer) => {
      answer.write(layer('a', 'Downloading', 30, 100) + layer('b', 'Downloading', 0, 100));
      answer.end(layer('a', 'Download complete') + layer('b', 'Pull complete'));
    });
    const told: (number | null)[] = [];
    await engine.pull({ repository: 'x', tag: 'v1' }, null, ({ percent }) => told.push(percent), never);
    expect(told).toEqual([30, 30, 50, 99]);
  });
});
