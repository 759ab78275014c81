import { mkdir, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { execa } from 'execa';
import { fillsSharedDisk } from '../bed/bad-releases.ts';
import { endingOf, judgeWords } from '../judge/log.ts';
import { findContainers } from '../rig/engine-api.ts';
import { mountLoop } from '../rig/loop-disk.ts';
import { startRegistry } from '../rig/registry.ts';
import { openTestHost, type TestHost } from '../rig/test-host.ts';
import { type UpdateResult, updaterImage } from '../rig/updater-run.ts';
import { factsOf, survive } from './fault.ts';
import { atMoment, type Moment, onLine } from './kill.ts';
import { bringUpLoopback, endWithParent } from './namespaces.ts';
import { loadImage, OwnEngine } from './own-engine.ts';
import { outerEngineOf, ownDirectory, runInOwnHost } from './own-host.ts';
import { judgeBoots, judgeVersion, judgeWhole } from './restore-judge.ts';
import { onTools } from './restore-moments.ts';
import { patientHealth, RestoreStage, versions } from './restore-stage.ts';
import { begin, lastLine, wordsOf } from './restore-tries.ts';

// One disk for engine, volumes and compose directory, which a bad release fills repeatedly while it runs. Prints each
// error on a line, and exits with 0 if there are none: shared-disk.ts [TRY…]

const diskBytes = 1_000_000_000;
/** Little enough to be filled in a moment; a restore point leaves 5 % of the disk free. */
const freeBytes = 160_000_000;
/** Few inodes, which are soon used up. */
const inodes = 12_000;

interface SharedDisk {
  host: TestHost;
  directory: string;
}

/** The action of a user with a full disk. */
async function giveRoom({ directory }: SharedDisk, stage: RestoreStage): Promise<void> {
  await stage.instance.compose('stop', '--timeout', '1', 'app', 'worker');
  await rm(join(directory, 'ballast'), { recursive: true });
}

interface Try {
  fill: keyof typeof fillsSharedDisk;
  /** Between saving and the rollback. */
  meddle?: (stage: RestoreStage) => Promise<unknown>;
  /** The rollback has no room until a user makes some. */
  isStuck?: boolean;
  /** The moment at which the updater is killed. */
  kill?: Moment;
}

const prune = () => execa('docker', ['container', 'prune', '--force']);

const removeReserve = ({ instance }: RestoreStage) =>
  Promise.all(
    ['journal', 'engine'].map((part) =>
      rm(join(instance.directory, '.svc-updater', `reserve-${part}`), { recursive: true }),
    ),
  );

/** Converts a restore point to that of an earlier release: without helper containers, and with its own reserve. */
async function makeEarlier(stage: RestoreStage): Promise<void> {
  await prune();
  await removeReserve(stage);
  const [place = ''] = await readdir(stage.points);
  await writeFile(join(stage.points, place, 'reserve'), Buffer.alloc(2_000_000));
}

const tries: Record<string, Try> = {
  bytes: { fill: 'bytes' },
  inodes: { fill: 'inodes' },
  'bytes, pruned': { fill: 'bytes', meddle: prune },
  'inodes, pruned': { fill: 'inodes', meddle: prune },
  'bytes, of an earlier release': { fill: 'bytes', meddle: makeEarlier },
  ...Object.fromEntries(
    (['bytes', 'inodes'] as const).map((fill) => [
      `${fill}, without a reserve`,
      { fill, meddle: removeReserve, isStuck: true },
    ]),
  ),
  ...Object.fromEntries(
    (['bytes', 'inodes'] as const).flatMap((fill) =>
      [
        onLine(/; rolling back to /),
        // The first starts are those of the plan, and of the hashes for the record.
        onTools('look', 2),
        onTools('hash', 2),
        onLine(/restoring the data of /),
        onTools('restore'),
        onLine(/the data is identical to the restore point/),
      ].map((kill) => [`${fill}, killed ${kill.name}`, { fill, kill }] as const),
    ),
  ),
};

async function tryOne(
  disk: SharedDisk,
  stage: RestoreStage,
  { fill, meddle, kill, isStuck }: Try,
): Promise<void> {
  await stage.publish(versions.bad, {
    FAULT_APP: 'unhealthy',
    AT_BOOT: ': >/tmp/busy',
    AT_END: `sync; (cd /; ${fillsSharedDisk[fill]}) &`,
  });
  const { old, boots } = await begin(stage, 'bad');
  const ballast = join(disk.directory, 'ballast');
  await mkdir(ballast, { recursive: true });
  for (let at = 0; at < 300; at++) await writeFile(join(ballast, `${at}`), Buffer.alloc(65_536));
  await rm(join(disk.directory, 'taken'), { force: true });
  await execa('fallocate', ['-l', `${await bytesToTake(disk)}`, join(disk.directory, 'taken')]);
  const options = { patience: 400 };
  const start = () => stage.instance.startUpdate(wordsOf.bad, options);
  let result = null;
  const log: string[] = [];
  if (kill) {
    // Process ids are different in this namespace.
    const { run, why } = await atMoment(kill, stage.instance, start, (struck) => struck.kill());
    result = await run.done;
    log.push(result.log, `killed ${why}`);
    if (why === null) throw new Error('the moment came too late');
    await giveRoom(disk, stage);
    result = await start().done;
  } else {
    const run = start();
    if (meddle) {
      await run.waitFor(/INFO +recreate /, 120);
      await meddle(stage);
    }
    result = await run.done;
  }
  const stuck: string[] = [];
  if (isStuck) {
    log.push(result.log);
    stuck.push(...(await judgeStuck(stage, result)));
    await rm(ballast, { recursive: true });
    result = await start().done;
  }
  log.push(result.log);
  if (process.env.SVC_UPDATER_TRACE) console.error(log.join('\n'));
  await rm(join(disk.directory, 'taken'));
  const isFull = kill !== undefined || isStuck || /no space left on device.*rolling back/is.test(result.log);
  const ended = lastLine(result);
  await stage.instance.waitUntilHealthy(60).catch(() => {});
  survive([
    ...stuck,
    ...(isFull ? [] : ['the release has not filled the disk']),
    ...(endingOf(result) === 'failed' && ended.startsWith('failed (rolled-back)') ? [] : [ended]),
    ...(await judgeWhole(stage, old)),
    ...(await judgeVersion(stage, versions.old)),
    ...judgeBoots((await stage.boots()).slice(boots)),
  ]);
}

/** All services are stopped, and the last line contains the next step. */
async function judgeStuck(stage: RestoreStage, result: UpdateResult): Promise<string[]> {
  const facts = judgeWords(result, {
    exitCode: 5,
    says: [],
    ends: [
      /^broken \(no-space\): the data of v1\.0\.0 has not been restored yet, so these services remain stopped: app and worker\. Next: Free at least 17 MB and 256 inodes on this disk, then run the update again/,
    ],
  });
  // An engine that cannot store that a container has stopped lists it as running.
  const running = (await findContainers(stage.instance.project)).filter(
    ({ State }) => State.Status === 'running',
  );
  const names = running.map(({ Name }) => Name).filter((name) => !name.includes('-proxy-'));
  return [...facts, ...names.map((name) => `still running: ${name}`)];
}

async function bytesToTake({ directory }: SharedDisk): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize - freeBytes;
}

async function main(names: readonly string[]): Promise<number> {
  const directory = ownDirectory();
  endWithParent();
  await bringUpLoopback(directory);
  // Makes later mounts visible inside the machine, which was started earlier.
  await execa('mount', ['--make-rshared', '/'], { timeout: 10_000 });
  const loop = await mountLoop('ext4', join(directory, 'data'), diskBytes, ['-N', `${inodes}`, '-m', '0']);
  const engine = new OwnEngine(directory, basename(directory));
  await engine.start();
  await loadImage(updaterImage, outerEngineOf(), `unix://${engine.socket}`);
  const registry = await startRegistry(join(directory, 'registry'));
  const compose = join(loop.directory, 'compose');
  await mkdir(compose);
  const { host } = await openTestHost({ directory: compose, registry: registry.host });
  const disk = { host, directory: loop.directory };
  let failed = 0;
  for (const name of names) {
    const stage = await RestoreStage.start(host, 'files', { health: patientHealth });
    const facts = await tryOne(disk, stage, tries[name] as Try).then(() => [], factsOf);
    for (const fact of facts) console.log(`${name}: ${fact}`);
    failed += facts.length;
    await stage.dispose();
  }
  await engine.cut();
  await registry.close();
  await execa('umount', ['--lazy', loop.directory]);
  return failed === 0 ? 0 : 1;
}

const names = process.argv.slice(2);
if (names.length === 0) names.push(...Object.keys(tries));
if (process.env.SVC_FAULTS_OWN_HOST === undefined)
  process.exitCode = await runInOwnHost(import.meta.filename, names);
else process.exit(await main(names));
