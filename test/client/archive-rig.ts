import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttp, type Server as HttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createHandler } from '../../src/instance/http/handler.ts';
import { toNodeHandler } from '../../src/instance/http/node-handler.ts';
import { releaseFile } from '../feed/proofs.ts';
import { Rig, type Server } from '../instance/updates/rig.ts';
import { publisher } from '../provenance/sign.ts';
import { signedArchive } from '../provenance/signed-archive.ts';

const anna = publisher();
const layers = [...Array(6).keys()].map((byte) => Buffer.alloc(1_000_000, byte));

/** An archive of 6 MB on the disk while a test runs, by somebody whom the servers here trust, or by somebody else. */
export function archiveFile(version = 'v1.5.0', by = anna): { path: string; size: number } {
  const { bytes, size } = signedArchive(by, releaseFile(version), {
    blobs: ['index', 'amd64', 'amd64 config', ...layers],
  });
  const folder = mkdtempSync(join(tmpdir(), 'archive-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, `svc-${version}-linux-amd64.tar`);
  writeFileSync(path, bytes);
  return { path, size };
}

/** Servers of an instance, one after the other, behind a line that breaks where a test says so. */
export class ArchiveRig {
  readonly #rig: Rig;
  readonly #directory = mkdtempSync(join(tmpdir(), 'archives-'));
  readonly #line = createServer((socket) => this.#carry(socket));
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #http: HttpServer | null = null;
  /** What stands before a server; says whether it has answered. */
  before: (...asked: Parameters<RequestListener>) => boolean = () => false;
  /** Where the pieces began that have come to a server. */
  readonly offsets: number[] = [];
  /** Bytes that clients have sent. */
  sent = 0;
  /** After so many of them, what is to happen: the next first. */
  breaks: { at: number; do: () => unknown }[] = [];

  private constructor(rig: Rig) {
    this.#rig = rig;
  }

  static async start(): Promise<ArchiveRig> {
    const rig = new ArchiveRig(await Rig.start());
    await rig.serve();
    await new Promise<void>((resolve) => rig.#line.listen(0, '127.0.0.1', resolve));
    return rig;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#line.address() as AddressInfo).port}`;
  }

  get engine() {
    return this.#rig.engine;
  }

  /** All lines break that there are. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** The server goes, and its lines with it. */
  async stop(): Promise<void> {
    this.cut();
    this.#http?.closeAllConnections();
    this.#http?.close();
    this.#http = null;
    await this.#server?.updates.close();
  }

  /** Another one begins, in a container of its own. */
  async serve(): Promise<void> {
    const archives = { directory: this.#directory, trust: { keys: [anna.key] } };
    const mounts = { [this.#directory]: '/srv/svc/archives' };
    const server = await this.#rig.server({ name: `svc-app-${performance.now()}`, mounts }, { archives });
    await server.updates.boot();
    const path = '/api/v1/instance/update';
    const handle = createHandler(server.updates, { path, authorize: () => 'admin', log: () => {} });
    const listener = toNodeHandler({ handle, matches: () => true });
    const http = createHttp((request, response) => {
      if (this.before(request, response)) return;
      const offset = new URL(request.url ?? '', 'http://svc').searchParams.get('offset');
      if (offset !== null) this.offsets.push(Number(offset));
      listener(request, response);
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    this.#server = server;
    this.#http = http;
  }

  async close(): Promise<void> {
    await this.stop();
    this.#line.close();
    await this.#rig.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #carry(near: Socket): void {
    const address = this.#http?.address() as AddressInfo | undefined;
    if (!address) return void near.destroy();
    const far = connect(address.port, '127.0.0.1');
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    far.pipe(near);
    near.on('data', (chunk: Buffer) => {
      this.sent += chunk.length;
      if (!far.write(chunk)) {
        near.pause();
        far.once('drain', () => near.resume());
      }
      const [next] = this.breaks;
      if (next && this.sent >= next.at) {
        this.breaks.shift();
        next.do();
      }
    });
  }
}
