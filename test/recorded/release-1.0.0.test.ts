import { readFileSync } from 'node:fs';
import { chmod, cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defaultServerTiming } from '../../src/server/contract/timing.ts';
import { StateStore } from '../../src/server/store/state-store.ts';
import {
  readRestorePointRecord,
  restorePointLocationOf,
  writeRestorePointRecord,
} from '../../src/updater/data/restore-point.ts';
import { Journal, readJournal } from '../../src/updater/run/state/journal.ts';
import { readStackRecord } from '../../src/updater/swarm/record/stack-record.ts';
import { engineThat } from '../build-plan.ts';
import { HostDouble } from '../rig/host-double/host-double.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';

// Journal, record of a restore point, server store and record of a stack as written by release 1.0.0, with all fields.
// Versions mix during an update, so later versions must read these files and write the same bytes.

const fixture = (name: string): string => new URL(`release-1.0.0/${name}`, import.meta.url).pathname;

/** A state directory with a fixture, accessible only to its owner. */
async function directoryWith(name: string): Promise<string> {
  const home = await temporaryDirectory();
  const directory = join(home, '.svc-updater');
  await mkdir(directory, { mode: 0o700 });
  await cp(fixture(name), join(directory, name));
  await chmod(join(directory, name), 0o600);
  return directory;
}

it('the journal of release 1.0.0 is read and written with the same bytes', async () => {
  const state = await directoryWith('journal.json');
  const data = await readJournal(state);
  if (data === null || 'unreadable' in data) throw new Error(data?.mistake);
  const text = await readFile(fixture('journal.json'), 'utf8');
  expect(data).toEqual(JSON.parse(text));
  await new Journal({ state, restore: async () => {} }, data).write();
  expect(await readFile(join(state, 'journal.json'), 'utf8')).toBe(text);
});

it('the record of a restore point of release 1.0.0 is read and written with the same bytes', async () => {
  const directory = await directoryWith('point.json');
  const place = restorePointLocationOf(directory, { directory: '/opt/svc' });
  const point = await readRestorePointRecord(place);
  const text = await readFile(fixture('point.json'), 'utf8');
  expect(point).toEqual(JSON.parse(text).point);
  if (point) await writeRestorePointRecord(place, point);
  expect(await readFile(join(directory, 'point.json'), 'utf8')).toBe(text);
});

it('every entry of the store of release 1.0.0 is read and written with the same bytes', async () => {
  const entries: Record<string, string> = JSON.parse(readFileSync(fixture('store.json'), 'utf8'));
  const host = new HostDouble();
  for (const [key, text] of Object.entries(entries)) host.state.store.set(key, text);
  const ledger = new StateStore({ store: host.store, log: host.log }, defaultServerTiming);
  const read = await Promise.all([
    ledger.read('run'),
    ledger.readPastRuns(),
    ledger.read('skip'),
    ledger.readStagedRollout(),
    ledger.read('automatic'),
  ]);
  // The settings of automatic updates get the defaults of later releases, which release 1.0.0 ignores.
  entries.automatic = JSON.stringify({ ...JSON.parse(entries.automatic ?? ''), rehearse: false });
  const texts = ['run', 'history', 'skip', 'rollout', 'automatic'].map((key) => entries[key] ?? '');
  expect(read).toEqual(texts.map((text) => JSON.parse(text)));
  expect(await ledger.read('channel')).toBe('canary');
  expect({ stable: await ledger.readBySigner('offered', 'stable') }).toEqual(
    JSON.parse(entries.offered ?? ''),
  );
  expect({ stable: await ledger.readBySigner('channel-files', 'stable') }).toEqual(
    JSON.parse(entries['channel-files'] ?? ''),
  );
  expect(await ledger.claimNotice('urgent:v1.1.0')).toBe(false);
  const [server] = JSON.parse(entries.servers ?? '');
  expect(await ledger.findServerProcess(server.container)).toEqual(server);

  // Equal values in new objects.
  await ledger.changeOpenRun('r3', (open) => ({ ...open }));
  await ledger.changePastRun('r1', (past) => ({ ...past }));
  await ledger.readStagedRollout('v1.1.0');
  await ledger.edit('automatic', (automatic) => automatic && { ...automatic });
  await ledger.addServerProcess(server);
  expect(Object.fromEntries(host.state.store)).toEqual(entries);
});

it('the record of a stack of release 1.0.0 is read', async () => {
  const spec = JSON.parse(readFileSync(fixture('stack.json'), 'utf8'));
  const config = { ID: 'config', Version: { Index: 1 }, Spec: spec };
  const engine = await engineThat((_, to) => to.end(JSON.stringify([config])));
  const found = await readStackRecord(engine, 'svc');
  expect(found?.data).toEqual(JSON.parse(Buffer.from(spec.Data, 'base64').toString()));
  expect(found?.labels).toEqual({
    ...{ run: '20261125T100000Z', holder: 'h1', container: 'c1', node: 'n1', started: true, beat: 7 },
    state: JSON.parse(spec.Labels['svc-updater.state']),
  });
});
