// Runs in a container with little memory: calls each reader in a group with endless or very slow data, and prints how each
// call ended. Exits with 1 if a call ended in another way than expected.
// Usage: bounded-readers.ts GROUP FLOW

import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Flow, root } from './adversary.ts';
import type { Reader } from './bounded-reader.ts';

/** Program `docker` that prints the flow of `engineAt`. */
function installDocker(): void {
  const path = join(root, 'docker');
  writeFileSync(path, '#!/bin/sh\nexec sh -c "$(cat "$HOME/flow")"\n');
  chmodSync(path, 0o755);
  process.env.PATH = `${root}:${process.env.PATH}`;
}

/** Time after which a call counts as endless. */
const patienceMs = 20_000;

/** Prints how the call ended. Returns whether it ended as expected. */
async function runCase({ name, read, ends }: Reader, flow: Flow): Promise<boolean> {
  // The garbage of earlier calls does not count.
  globalThis.gc?.();
  const patience = new AbortController();
  const end = await Promise.race([
    read(flow).then(String, (error: unknown) => `error: ${messageOf(error)}`),
    sleep(patienceMs, 'did not end', { signal: patience.signal }),
  ]);
  patience.abort();
  const isExpected = ends[flow]?.test(end) ?? false;
  console.log(
    `${name} | ${flow} | ${isExpected ? '' : 'UNEXPECTED: '}${end.slice(0, 200).replaceAll(/\s+/g, ' ')}`,
  );
  return isExpected;
}

const messageOf = (error: unknown): string => {
  const { message, cause } = Object(error) as Error;
  return cause instanceof Error ? `${message} (${cause.message})` : String(message);
};

const [group = '', flow = ''] = process.argv.slice(2);
installDocker();
const { readers } = (await import(`./bounded-${group}-readers.ts`)) as { readers: Reader[] };
const concerned = readers.filter(({ ends }) => flow in ends);
const results: boolean[] = [];
if (flow === 'one byte a second')
  results.push(...(await Promise.all(concerned.map((reader) => runCase(reader, flow)))));
else for (const reader of concerned) results.push(await runCase(reader, flow as Flow));
process.exit(results.every((isExpected) => isExpected) ? 0 : 1);
