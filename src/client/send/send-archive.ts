import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Refused } from '../../wire/reader-answer.ts';
import { beginArchive, sendPiece } from '../../wire/reader-archive.ts';
import type { Problem } from '../../wire/reader-shapes.ts';
import type { Archive } from '../../wire/status.ts';
import { Failure, stoppedCode } from '../command.ts';
import { failureOf, type Session } from '../connect.ts';
import { explain } from '../explain.ts';
import { names } from '../names.ts';
import { megabytes } from '../self-update/download.ts';
import { TransferLine } from '../self-update/transfer-line.ts';
import type { ArchiveFile } from './archive-file.ts';
import { PieceSize } from './piece-size.ts';

/** Milliseconds between two tries; each further one waits twice as long. */
const [firstPause, longestPause] = [1_000, 30_000];

export interface Sending {
  archive: ArchiveFile;
  sha256: string;
  /** After so many seconds without a byte more it is given up. */
  timeout: number;
  /** The command that goes on. */
  command: string;
}

/**
 * Sends an archive from where the server has it, and goes on where the line broke or the server began anew. Null once
 * all of it is there, and proven; else why the server refuses it.
 * @throws Failure where it was given up or stopped: what was sent stays there
 */
export async function sendArchive(session: Session, sending: Sending): Promise<Problem | null> {
  const { signal, now, stderr } = session;
  const { archive, timeout, command } = sending;
  const handle = await open(archive.path, 'r');
  const transfer = new Transfer(session, sending, handle);
  const goOn = `Go on: ${names().name} ${command}`;
  try {
    for (let [pause, movedAt] = [firstPause, now()]; ; pause = Math.min(2 * pause, longestPause)) {
      const before = transfer.there;
      const answer = await transfer.try();
      if (answer.kind === 'ok') return null;
      if (signal.aborted) throw new Failure(stoppedCode, `${transfer.said}. ${goOn}`);
      if (answer.kind === 'problem' && answer.problem.status === 409) return answer.problem;
      if (!transfer.mayGoOn(answer)) throw takesNone(answer) ?? failureOf(answer, session);
      if (transfer.there > before) [pause, movedAt] = [firstPause, now()];
      const why = explain(answer, session.config);
      if (now() - movedAt >= timeout * 1000) throw new Failure(1, `${why} ${transfer.said}. ${goOn}`);
      stderr.write(`${why} ${transfer.said}; it goes on in ${pause / 1000} s.\n`);
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
  } finally {
    transfer.end();
    await handle.close();
  }
}

/** Of a server that is older than this. */
const takesNone = (refused: Refused): Failure | null =>
  refused.kind === 'problem' && [404, 405].includes(refused.problem.status)
    ? new Failure(3, `This ${names().name} takes no archives; a newer version can.`)
    : null;

/** One archive on its way to the server. */
class Transfer {
  /** So many bytes of it are there. */
  there = 0;
  readonly #session: Session;
  readonly #sending: Sending;
  readonly #handle: FileHandle;
  readonly #line: TransferLine;
  readonly #size = new PieceSize();
  /** Where it was when this began, and when that was. */
  #from: { bytes: number; at: number } | null = null;
  #isBegun = false;

  constructor(session: Session, sending: Sending, handle: FileHandle) {
    this.#session = session;
    this.#sending = sending;
    this.#handle = handle;
    this.#line = new TransferLine(session, `Sending ${sending.archive.name}`);
  }

  /** Asks where to begin, and sends the rest of it, until something goes wrong. */
  async try(): Promise<Answer<Archive>> {
    const { reader, signal } = this.#session;
    const { archive, sha256 } = this.#sending;
    this.#isBegun = false;
    const begun = await beginArchive(reader, { size: archive.size, sha256 }, { signal });
    if (begun.kind !== 'ok') return this.#ended(begun);
    this.#isBegun = true;
    for (let here = begun.value; ; ) {
      this.#note(here);
      if (here.ready) return { kind: 'ok', value: here };
      const answer = await this.#sendNext(here.received);
      if (answer.kind !== 'ok') return this.#ended(answer);
      // One that takes nothing is asked again after a pause.
      if (answer.value.received <= here.received && !answer.value.ready)
        return this.#ended({ kind: 'none', why: { what: 'late' } });
      here = answer.value;
    }
  }

  /** What is in between, or the server, may be well again later. */
  mayGoOn(refused: Refused): boolean {
    if (refused.kind === 'none') return true;
    if (refused.kind === 'logged-out') return false;
    const { status } = refused.problem;
    // What is wrong with the first question stays so.
    return status >= 500 || status === 429 || (this.#isBegun && status !== 403);
  }

  /** `12 of 500 MB are there` */
  get said(): string {
    return `${megabytes(this.there)} of ${megabytes(this.#sending.archive.size)} MB are there`;
  }

  end(): void {
    this.#line.end();
  }

  async #sendNext(offset: number): Promise<Answer<Archive>> {
    const { reader, signal, now } = this.#session;
    const { sha256 } = this.#sending;
    for (;;) {
      const bytes = await this.#bytesAt(offset);
      const beganAt = now();
      const answer = await sendPiece(reader, { sha256, offset, bytes }, { signal });
      if (answer.kind === 'ok') this.#size.came(now() - beganAt);
      if (isTooLarge(answer) && this.#size.tooLarge()) continue;
      if (answer.kind === 'none') this.#size.broke();
      return answer;
    }
  }

  async #bytesAt(offset: number): Promise<Uint8Array<ArrayBuffer>> {
    const { path, size } = this.#sending.archive;
    const bytes = new Uint8Array(Math.min(this.#size.bytes, size - offset));
    const { bytesRead } = await this.#handle.read(bytes, 0, bytes.length, offset);
    if (bytesRead === 0 && offset < size) throw new Failure(2, `${path} was changed while it was sent.`);
    return bytes.subarray(0, bytesRead);
  }

  #note({ received, ready }: Archive): void {
    const { archive } = this.#sending;
    const now = this.#session.now();
    this.there = received;
    this.#from ??= { bytes: received, at: now };
    const { bytes, at } = this.#from;
    const percent = Math.floor((100 * received) / archive.size);
    const rate = now > at ? `, ${megabytes((1000 * (received - bytes)) / (now - at))} MB/s` : '';
    this.#line.say(`${megabytes(received)} of ${megabytes(archive.size)} MB, ${percent} %${rate}`, ready);
    if (ready) this.#line.end();
  }

  #ended<T>(answer: T): T {
    this.#line.end();
    return answer;
  }
}

/** The server's own word, or that of a proxy before it. */
const isTooLarge = (answer: Answer<Archive>): boolean =>
  (answer.kind === 'problem' && answer.problem.status === 413) ||
  (answer.kind === 'none' && answer.why.what === 'other' && answer.why.status === 413);
