// Parts that all lists of readers with adversaries need.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Engine } from '../../../src/engine/cli/engine.ts';
import { type Flow, printing, root } from './adversary.ts';

/** Time limit in milliseconds for slow data, and for readers that never stop otherwise. */
export const limitMs = 2_400;
/** Time limit of a reader that must stop earlier if the data is endless. */
export const deadlineFor = (flow: Flow): number => (flow === 'one byte a second' ? limitMs : 10_000);

/** Writes the flow for the program `docker` of the container, which prints the flow in the file of its home directory. */
export function engineAt(host: string, flow: Flow): Engine {
  const home = mkdtempSync(join(root, 'home-'));
  writeFileSync(join(home, 'flow'), printing[flow]);
  return new Engine({ host, tls: [], configDirectory: root }, { home });
}

export const soon = () => AbortSignal.timeout(limitMs);

/** Reads all values until the signal is aborted. */
export async function count(values: AsyncIterable<unknown>): Promise<string> {
  let number = 0;
  for await (const _ of values) number += 1;
  return number > 0 ? 'ended after some values' : 'ended without values';
}

export interface Reader {
  name: string;
  /** Calls the reader, and returns or throws how the call ended. */
  read: (flow: Flow) => Promise<unknown>;
  /** Expected end of each flow; the flows without an expression are left out. */
  ends: Readonly<Partial<Record<Flow, RegExp>>>;
}

export const each = (endless: RegExp, slow: RegExp = endless) => ({
  'endless line': endless,
  'endless stream': endless,
  'one byte a second': slow,
});
export const aborted = /aborted due to timeout/;
export const late = /within 2\.4 s/;
