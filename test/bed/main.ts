import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type DataKind, dataKinds } from '../faults/databases.ts';
import { survive } from '../faults/fault.ts';
import { runInOwnHost } from '../faults/own-host.ts';
import { judgeBoots, judgeLive, judgeVersion, judgeWhole, lookWhole } from '../faults/restore-judge.ts';
import { type RestoreStage, versions } from '../faults/restore-stage.ts';
import { lastLine } from '../faults/restore-tries.ts';
import { type Play, runPlays } from '../faults/run-plays.ts';
import { report } from '../judge/report.ts';
import { openTestHost } from '../rig/test-host.ts';
import { type BadRelease, badReleases } from './bad-releases.ts';

/** The program of scripts/campaign bed. */

const sharedDisk = fileURLToPath(new URL('../faults/shared-disk.ts', import.meta.url));

const usage = `usage: scripts/campaign bed [${dataKinds.join('|')}]… [--only NAME,…] [--list]

Updates an app, which writes rows and files until it is stopped, to bad releases, one after the other, each with a restore point.
After each, everything must be as before, including the data.

  --only NAME,…   only releases whose name contains one of these
  --list          print the bad releases
  --rehearse      rehearses each release instead of updating to it: nothing may change
  --shared-disk   only releases that fill the disk of engine, data and journal, also with kills at each step
`;

/**
 * Releases that a rehearsal does not find: only the worker is bad, the app exits after it was healthy, or the kernel or the
 * guard kills a process.
 */
const notFound = ['bad-worker', 'dies-after-ten-seconds', 'killed-for-memory', 'fills-disk'];

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      only: { type: 'string', default: '' },
      list: { type: 'boolean', default: false },
      rehearse: { type: 'boolean', default: false },
      'shared-disk': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const kinds = dataKinds.filter((kind) => positionals.length === 0 || positionals.includes(kind));
  if (values.help || kinds.length < positionals.length) {
    process.stdout.write(usage);
    return values.help ? 0 : 2;
  }
  if (values.list) {
    for (const kind of kinds)
      console.log(
        `${kind}: ${badReleases(kind)
          .map(({ name }) => name)
          .join(', ')}`,
      );
    return 0;
  }
  if (values['shared-disk']) return runInOwnHost(sharedDisk, []);
  const { host, close } = await openTestHost();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => close().finally(() => process.exit(130)));
  }
  try {
    const rows = await runPlays({
      campaign: 'bed',
      host,
      kinds,
      of: (kind) =>
        playsOf(kind, values.rehearse).filter(({ name }) =>
          values.only.split(',').some((part) => name.includes(part)),
        ),
      isLive: true,
      directory: join(tmpdir(), `svc-updater-bed-${process.pid}`),
    });
    for (const line of report(rows)) console.log(line);
    return rows.some(({ lost }) => lost > 0) ? 1 : 0;
  } finally {
    await close();
  }
}

/** In every second play, the app writes until it is stopped. */
function playsOf(kind: DataKind, isRehearsed: boolean): Play[] {
  return badReleases(kind).map((release, at) => ({
    name: release.name,
    detail: at % 2 === 0 ? 'paused' : 'writing on',
    again: `${kind}${isRehearsed ? ' --rehearse' : ''} --only ${release.name}`,
    run: (stage, log) =>
      (isRehearsed ? rehearse : tryRelease)(
        stage,
        { ...release, tag: `v2.0.${at + 1}`, isWriting: at % 2 === 1 },
        log,
      ),
  }));
}

/** Publishes a release, and returns the state and the number of boots before it. */
async function prepare(
  stage: RestoreStage,
  {
    tag,
    env,
    labels,
    isWriting,
  }: { tag: string; env: BadRelease['env']; labels: BadRelease['labels'] | undefined; isWriting: boolean },
): Promise<{ before: Awaited<ReturnType<typeof lookWhole>>; length: number }> {
  await stage.publish(tag, { LIVE: 'yes', ...env }, labels);
  await stage.awaitWrites();
  await stage.pause();
  await stage.touch();
  const before = await lookWhole(stage);
  const { length } = await stage.boots();
  if (isWriting) {
    await stage.setGate('open');
    await stage.awaitWrites();
  }
  return { before, length };
}

async function tryRelease(
  stage: RestoreStage,
  {
    tag,
    env,
    labels,
    patience = 15,
    isByCommand = false,
    isWriting,
  }: BadRelease & { tag: string; isWriting: boolean },
  log: (text: string) => void,
): Promise<{ ended: string; isReusable: boolean }> {
  const { before, length } = await prepare(stage, { tag, env, labels, isWriting });
  if (isWriting) await stage.setGate('hold');
  const run = async (...args: string[]) => {
    const done = await stage.instance.startUpdate(args, { patience: 400 }).done;
    log(done.log);
    return done;
  };
  const update = ['--restore-point', '--target', tag, '--wait-timeout', `${patience}`];
  let result = await run(...update, ...(isByCommand ? ['--no-rollback'] : []));
  if (isByCommand) {
    survive(result.exitCode === 5 ? await judgeVersion(stage, tag) : [`exit code ${result.exitCode}`]);
    result = await run('rollback', '--yes');
  }
  await stage.instance.waitUntilHealthy(60);
  const ended = lastLine(result);
  const saved = /v1\.0\.0 is running again with the data saved at [\d-]+ \d\d:\d\d:\d\d UTC/;
  const isAsTold = saved.test(ended) && result.exitCode === (isByCommand ? 0 : 4);
  survive([
    ...(isAsTold ? [] : [`exit code ${result.exitCode}: ${ended}`]),
    ...(await judgeWhole(stage, before, [], isWriting)),
    ...(await judgeLive(stage)),
    ...(await judgeVersion(stage, versions.old)),
    ...judgeBoots((await stage.boots()).slice(length)),
  ]);
  await stage.setGate('open');
  await stage.awaitWrites();
  return { ended: '', isReusable: true };
}

async function rehearse(
  stage: RestoreStage,
  { name, tag, env, labels, patience = 15, isWriting }: BadRelease & { tag: string; isWriting: boolean },
  log: (text: string) => void,
): Promise<{ ended: string; isReusable: boolean }> {
  const { before, length } = await prepare(stage, { tag, env, labels, isWriting });
  const args = ['rehearse', '--target', tag, '--wait-timeout', `${patience}`];
  const result = await stage.instance.startUpdate(args, { patience: 400 }).done;
  log(result.log);
  await stage.instance.waitUntilHealthy(60);
  if (isWriting) await stage.pause();
  const ended = lastLine(result);
  const isFound = result.exitCode === 4 && ended.startsWith('failed (rehearsal-failed)');
  survive([
    ...(isFound || notFound.includes(name) ? [] : [`exit code ${result.exitCode}: ${ended}`]),
    ...(await judgeWhole(stage, before, [], isWriting)),
    ...(await judgeLive(stage)),
    ...(await judgeVersion(stage, versions.old)),
    ...judgeBoots((await stage.boots()).slice(length)),
  ]);
  await stage.setGate('open');
  await stage.awaitWrites();
  return { ended: isFound ? '' : ended, isReusable: true };
}
