import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Bytes that an engine sends for a request, and whether it closes the connection afterwards. */
export interface RawAnswer {
  bytes: Buffer;
  end: 'hang up' | 'hang';
}

export interface RawEngine {
  path: string;
  /** First lines of the requests: `GET /version HTTP/1.1`. */
  requests: string[];
  /** Number of open connections. */
  openCount(): number;
  close(): Promise<void>;
}

/** Starts an engine on a socket with responses that a real engine does not send on demand. */
export async function startRawEngine(answer: (request: string) => RawAnswer): Promise<RawEngine> {
  const directory = await mkdtemp(join(tmpdir(), 'raw-engine-'));
  const path = join(directory, 'engine.sock');
  const requests: string[] = [];
  const connections = new Set<Socket>();
  const server = createServer((connection) => {
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
    connection.on('error', () => {});
    connection.once('data', (data: Buffer) => {
      const request = data.toString().split('\r\n', 1)[0] ?? '';
      requests.push(request);
      const { bytes, end } = answer(request);
      connection.write(bytes, () => {
        if (end === 'hang up') connection.destroy();
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    path,
    requests,
    openCount: () => connections.size,
    close: async () => {
      for (const connection of connections) connection.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const head = (status: string, headers: string): string => `HTTP/1.1 ${status}\r\n${headers}\r\n\r\n`;

export const endOfChunks = '0\r\n\r\n';

/** A response with chunked encoding, one chunk for each piece. */
export function chunked(pieces: readonly (string | Buffer)[], type = 'application/json'): Buffer {
  const framed = pieces.map((piece) => {
    const bytes = Buffer.from(piece);
    return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
  });
  const text = head('200 OK', `Content-Type: ${type}\r\nTransfer-Encoding: chunked`);
  return Buffer.concat([Buffer.from(text), ...framed, Buffer.from(endOfChunks)]);
}

/** A response with a Content-Length. */
export function measured(body: string, status = '200 OK'): Buffer {
  const length = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}`;
  return Buffer.from(head(status, length) + body);
}

/** A response without a body. */
export const empty = (): Buffer => Buffer.from(head('204 No Content', 'Api-Version: 1.45'));

/** A frame of a log. */
export function frame(text: string | Buffer, output = 1): Buffer {
  const start = Buffer.alloc(8);
  start.writeUInt8(output, 0);
  start.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([start, Buffer.from(text)]);
}
