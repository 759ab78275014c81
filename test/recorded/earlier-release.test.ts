import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseEventLine, parseJsonEventLine } from '../../src/core/progress/log-line.ts';
import { defaultServerTiming, type ServerTiming } from '../../src/server/contract/timing.ts';
import { createRun, RunRecord } from '../../src/server/run/run-record.ts';
import { StateStore } from '../../src/server/store/state-store.ts';
import type { Run } from '../../src/wire/status.ts';

// Recorded with release 1.0.0: logs of its updater, the runs that its server read from them, and its server's store.

const recorded = (name: string) => JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8'));
const logs: { name: string; log: string[]; run: Run }[] = recorded('updater-logs');

it.each(logs)('a log of the updater 1.0.0 results in the recorded run: $name', ({ log, run }) => {
  const { id, from, to, startedAt } = run;
  const record = new RunRecord(createRun({ id, from, to, startedAt }));
  for (const line of log) {
    const json = parseJsonEventLine(line);
    const event = json?.event ?? parseEventLine(line);
    if (event !== null) record.add(event, json?.fields);
  }
  expect(record.run).toEqual(run);
});

it('the store of the server 1.0.0 is read and written with the same bytes', async () => {
  const before: Record<string, string> = recorded('server-store');
  const entries = new Map(Object.entries(before));
  const store = {
    get: (key: string) => entries.get(key) ?? null,
    set: (key: string, text: string | null) => Boolean(entries.set(key, text ?? '')),
  };
  const logged: unknown[] = [];
  const ledger = new StateStore(
    { store, log: (line) => logged.push(line) },
    defaultServerTiming satisfies ServerTiming,
  );
  const past = await ledger.readPastRuns();
  expect(past.map(({ run }) => ({ ...run, id: 'run' })).reverse()).toEqual(logs.map(({ run }) => run));
  expect((await ledger.read('run'))?.run).toMatchObject({ id: 'open', state: 'waiting', by: 'anna' });
  for (const { run } of past) await ledger.changePastRun(run.id, (one) => structuredClone(one));
  await ledger.changeOpenRun('open', (open) => structuredClone(open));
  expect([Object.fromEntries(entries), logged]).toEqual([before, []]);
});
