import { createReadStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { execa } from 'execa';
import { Lost } from '../faults/fault.ts';
import { keepLog } from '../faults/keep-log.ts';
import { bringUpLoopback, endWithParent } from '../faults/namespaces.ts';
import { OwnEngine } from '../faults/own-engine.ts';
import { podmanService, runHealthChecks } from '../faults/podman.ts';
import { buildPart, machinePlatform } from '../rig/image.ts';
import { push, startRegistry } from '../rig/registry.ts';
import { openTestHost, type TestHost } from '../rig/test-host.ts';
import { updaterImage } from '../rig/updater-run.ts';
import type { CellTask } from './cell-process.ts';
import { nameOf } from './cells.ts';
import { emulateArm64 } from './emulate.ts';
import { kindOf } from './engines.ts';
import { type CellResult, Results, type RowName, type RowResult } from './results.ts';
import { type RowContext, rows } from './rows.ts';

// The process of one cell, in its own network and mount namespace: see cell-process.ts.

/** Number of concurrent rows: most of a row is waiting, except under emulation. */
const lanes = () => (kind.machine === undefined ? 3 : 1);

const task = JSON.parse(process.argv[2] ?? '') as CellTask;
const results = new Results(task.results);
const directory = tmpdir();

const kind = kindOf(task.cell.engine);

endWithParent();
if (kind.disk !== undefined) await mountOver(directory, kind.disk);
if (kind.machine !== undefined) await emulateArm64(directory);
await bringUpLoopback(directory);
const packages = process.env.SVC_TEST_PODMAN;
const service = packages === undefined ? null : await podmanService(packages, directory);
const engine = new OwnEngine(directory, basename(directory), kind.flags, service);
await engine.start();
const endChecks = service === null ? () => {} : runHealthChecks();
try {
  const load = execa('docker', ['load', '--quiet'], {
    timeout: 120_000,
    input: createReadStream(task.archive),
  });
  const registry = await startRegistry(join(directory, 'registry'));
  const { host } = await openTestHost({
    directory: join(directory, 'compose'),
    registry: registry.host,
  });
  // Published as an index, as most images are.
  await Promise.all(['db', 'proxy', 'tunnel'].map((name) => pushPart(host, name)));
  await load;
  await runRows(host);
} finally {
  endChecks();
  // Containers and images are removed with the folder.
  await engine.cut();
}
process.exit(0);

/** Mounts a file system over the folder, from a file inside the folder; later files are written to it. */
async function mountOver(folder: string, disk: string): Promise<void> {
  const file = join(folder, disk);
  await execa('truncate', ['--size', '8G', file]);
  await execa(`mkfs.${disk}`, ['-q', file], { timeout: 60_000 });
  await execa('mount', ['-o', 'loop', file, folder], { timeout: 60_000 });
}

async function pushPart({ registry, run }: TestHost, name: string): Promise<void> {
  await push(registry, `${run}/${name}`, '1', { ...(await buildPart(name)), platforms: [machinePlatform] });
}

async function runRows(host: TestHost): Promise<void> {
  const result = await results.read(task.cell);
  result.versions = await versions();
  const restart: RowName = 'restart';
  const names = Object.keys(rows) as RowName[];
  const waiting = names.filter((name) => name !== restart && task.rows.includes(name));
  const lane = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
      await tryRow(name, host, result);
  };
  await Promise.all(Array.from({ length: lanes() }, lane));
  // This row stops the engine, so it runs alone.
  if (task.rows.includes(restart)) await tryRow(restart, host, result);
}

async function tryRow(name: RowName, host: TestHost, result: CellResult): Promise<void> {
  const row = await runRow(name, host, result);
  result.rows[name] = row;
  result.day = new Date().toISOString().slice(0, 10);
  await results.write(task.cell, result);
  const verdict = row.facts.length === 0 ? 'ok ' : 'RED';
  console.log(`${verdict}  ${nameOf(task.cell)} ${name}, ${row.seconds} s`);
  for (const fact of row.facts) console.log(`       ${fact.split('\n').slice(0, 3).join('\n       ')}`);
  if (row.log !== null) console.log(`       log: ${row.log}`);
}

async function runRow(name: RowName, host: TestHost, result: CellResult): Promise<RowResult> {
  const began = performance.now();
  const context: RowContext = {
    host,
    engine,
    subjects: [],
    podman: kind.podman ?? null,
    nextUp: (services) => {
      result.nextUp = services;
    },
  };
  const failure = await rows[name](context).then(
    () => null,
    (error: unknown) => error,
  );
  const seconds = Math.round((performance.now() - began) / 1000);
  if (failure === null) {
    await Promise.all(context.subjects.map(({ instance }) => instance.dispose()));
    return { facts: [], seconds, log: null };
  }
  const facts = failure instanceof Lost ? failure.facts : [`${(failure as Error)?.stack ?? failure}`];
  const file = join(results.logsOf(task.cell), `${name}.log`);
  await keepLog(file, { facts, notes: [], used: context.subjects }).catch((error) => console.error(error));
  return { facts: [...facts], seconds, log: file };
}

/** Versions that the programs report. */
async function versions(): Promise<CellResult['versions']> {
  const ask = async (...args: string[]) => (await execa('docker', args, { timeout: 60_000 })).stdout.trim();
  const inImage = ['run', '--rm', '--network', 'none', '--entrypoint', '/usr/local/bin/docker', updaterImage];
  const [maker, engine, image] = await Promise.all([
    ask('compose', 'version', '--short'),
    ask('version', '--format', '{{.Server.Version}}'),
    ask(...inImage, 'compose', 'version', '--short'),
  ]);
  const plain = (text: string) => text.replace(/^v/, '').replace(/[-+].*$/, '');
  return { image: plain(image), maker: plain(maker), engine: plain(engine) };
}
