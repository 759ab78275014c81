import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseKind, Session } from './database.ts';

/** `open`: who starts, writes; `hold`: who writes goes on, who starts waits; `paused`: nobody writes. */
export type Gate = 'open' | 'hold' | 'paused';

export interface Writer {
  /** Tells this start of this process from all others. */
  boot: string;
  kind: DatabaseKind;
  session: Session;
  isOver: () => boolean;
}

const cache = 'http://cache:7000';
const pauseMs = 4;

export async function gate(): Promise<Gate> {
  return (await ask('/gate')) as Gate;
}

/**
 * Writes until it is over: a row, the same number into a second table in the same transaction, then into a file, and only
 * then it counts as acknowledged. So at any moment the numbers of ledger, file and table differ by one at most, and in
 * that order.
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

export function liveRow(kind: DatabaseKind, boot: string, n: number): string {
  const row = `INSERT INTO live (boot, n) VALUES ('${boot}', ${n})`;
  const tally =
    kind === 'postgres'
      ? `INSERT INTO tally VALUES ('${boot}', ${n}) ON CONFLICT (boot) DO UPDATE SET n = excluded.n`
      : `REPLACE INTO tally VALUES ('${boot}', ${n})`;
  return `BEGIN; ${row}; ${tally}; COMMIT`;
}

/** A cache that cannot be reached is none: what was not acknowledged is not promised. */
async function ask(path: string, body?: string): Promise<string> {
  const answer = await fetch(cache + path, body === undefined ? {} : { method: 'POST', body });
  return answer.text();
}
