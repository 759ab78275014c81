import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseKind, Session } from './database.ts';
import { liveRow } from './texts.ts';

/** `open`: all write; `hold`: only those that write already; `paused`: none. */
export type Gate = 'open' | 'hold' | 'paused';

export interface Writer {
  /** Tells this start of this process from all others. */
  boot: string;
  kind: DatabaseKind;
  session: Session;
  isOver: () => boolean;
}

const witness = 'http://witness:7000';
const pauseMs = 4;

export async function gate(): Promise<Gate> {
  return (await ask('/gate')) as Gate;
}

/**
 * Writes until it is over: a row, the same number into a second table in the same transaction, then into a file, then to the
 * witness. At any moment these numbers differ by one at most, and in that order.
 */
export async function writeOn({ boot, kind, session, isOver }: Writer): Promise<void> {
  const file = openSync(`/uploads/live/${boot}.log`, 'a');
  for (let n = 1; !isOver(); n++) {
    await session.run(liveRow(kind, boot, n));
    writeSync(file, `${n}\n`);
    fsyncSync(file);
    let next = (await ask('/acknowledged', JSON.stringify({ boot, n }))) as Gate;
    while (next === 'paused' && !isOver()) {
      await sleep(50);
      next = await gate();
    }
    await sleep(pauseMs);
  }
  closeSync(file);
}

/** What was not acknowledged is not promised. */
async function ask(path: string, body?: string): Promise<string> {
  const answer = await fetch(witness + path, body === undefined ? {} : { method: 'POST', body });
  return answer.text();
}
