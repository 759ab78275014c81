import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Strike } from './faults.ts';

/** Go sends longer responses in chunks, because their length is not known when it begins to send. */
const longestMeasured = 2048;

export interface ReplyOptions {
  socket: Socket;
  strike: Strike | null;
  /** Whether the client has requested to keep the connection open. */
  keepsOpen: boolean;
}

/** A response of the engine, limited by the fault of its request. */
export class Reply {
  readonly #options: ReplyOptions;
  #bytes: Buffer = Buffer.alloc(0);
  /** Larger than needed, so that a long log is not copied for each of its lines. */
  #room: Buffer = Buffer.alloc(longestMeasured);
  #sent = 0;
  readonly #chunks: Buffer[] = [];
  #isOver = false;
  /** Whether the fault has stopped the response, or was released. */
  #fate: 'open' | 'stopped' | 'released' = 'open';
  #isTrickling = false;
  readonly #finished = Promise.withResolvers<void>();

  constructor(options: ReplyOptions) {
    this.#options = options;
    options.socket.once('close', () => this.#finished.resolve());
  }

  /** Resolves when the last byte is sent, or the connection is closed. */
  get finished(): Promise<void> {
    return this.#finished.promise;
  }

  json(status: number, value: unknown): void {
    this.whole(status, `${JSON.stringify(value)}\n`, 'application/json');
  }

  /** Rejects a request with the engine's message and format. */
  refuse(status: number, message: string): void {
    this.json(status, { message });
  }

  whole(status: number, text: string, type: string): void {
    const body = Buffer.from(text);
    const bytes = this.#half ? body.subarray(0, Math.floor(body.length / 2)) : body;
    if (bytes.length > longestMeasured) {
      this.open(status, type);
      this.#send(inChunk(bytes));
      this.end();
    } else {
      this.#head(status, { 'Content-Type': type, 'Content-Length': bytes.length }, bytes);
      this.end();
    }
  }

  /** A response without a body, as for 204 and 304. */
  empty(status: number): void {
    this.#head(status, {});
    this.end();
  }

  /** Begins a chunked response. */
  open(status: number, type: string): void {
    this.#head(status, { 'Content-Type': type, 'Transfer-Encoding': 'chunked' });
  }

  chunk(bytes: Buffer | string): void {
    const chunk = inChunk(Buffer.from(bytes));
    // The size of the half is known only at the end.
    if (this.#half) this.#chunks.push(chunk);
    else this.#send(chunk);
  }

  get #half(): boolean {
    return this.#options.strike?.fault.kind === 'half';
  }

  end(): void {
    const count = Math.floor(this.#chunks.length / 2);
    for (const chunk of this.#chunks.splice(0).slice(0, count)) this.#send(chunk);
    if (/^transfer-encoding: chunked/im.test(this.#bytes.subarray(0, 1000).toString('latin1'))) {
      this.#send(Buffer.from('0\r\n\r\n'));
    }
    this.#isOver = true;
    this.pump();
  }

  #head(status: number, headers: Record<string, string | number>, body = Buffer.alloc(0)): void {
    const { 'Content-Length': length, 'Transfer-Encoding': coding, ...others } = headers;
    const all = {
      'Api-Version': '1.45',
      ...others,
      'Docker-Experimental': 'false',
      Ostype: 'linux',
      Server: 'Docker/26.1.5 (linux)',
      Date: new Date().toUTCString(),
      ...(length !== undefined && { 'Content-Length': length }),
      ...(!this.#options.keepsOpen && { Connection: 'close' }),
      ...(coding !== undefined && { 'Transfer-Encoding': coding }),
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    const text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`;
    this.#send(Buffer.concat([Buffer.from(text), body]));
  }

  #send(bytes: Buffer): void {
    const length = this.#bytes.length + bytes.length;
    if (length > this.#room.length) this.#room = Buffer.concat([this.#bytes], 2 * length);
    bytes.copy(this.#room, this.#bytes.length);
    this.#bytes = this.#room.subarray(0, length);
    this.pump();
  }

  /** Sends all bytes that may be sent now. */
  pump(): void {
    const { socket, strike } = this.#options;
    if (this.#isTrickling || this.#fate === 'stopped' || socket.destroyed) return;
    if (strike?.fault.kind === 'trickle') {
      this.#trickle();
      return;
    }
    const stop = this.#fate === 'open' && strike ? this.#stopAt(strike) : null;
    const until = stop ?? this.#bytes.length;
    const bytes = this.#bytes.subarray(this.#sent, until);
    this.#sent = until;
    if (stop === null) {
      if (bytes.length > 0) socket.write(bytes);
      if (this.#isOver) this.#finish();
      return;
    }
    this.#fate = 'stopped';
    if (strike?.fault.kind === 'cut') {
      socket.write(bytes, () => socket.destroy());
    } else {
      if (bytes.length > 0) socket.write(bytes);
      strike?.held(() => {
        this.#fate = 'released';
        this.pump();
      });
    }
  }

  #stopAt({ fault }: Strike): number | null {
    if (fault.kind !== 'cut' && fault.kind !== 'hang') return null;
    const { at = 0 } = fault;
    return at > this.#bytes.length ? null : at;
  }

  #trickle(): void {
    this.#isTrickling = true;
    const step = () => {
      const { socket } = this.#options;
      if (socket.destroyed) return;
      if (this.#sent === this.#bytes.length) {
        this.#isTrickling = false;
        if (this.#isOver) this.#finish();
        return;
      }
      socket.write(this.#bytes.subarray(this.#sent, this.#sent + 1));
      this.#sent += 1;
      setImmediate(step);
    };
    step();
  }

  #finish(): void {
    if (!this.#options.keepsOpen) this.#options.socket.end();
    this.#finished.resolve();
  }
}

const inChunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
