import { chown, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { endingOf } from '../judge/log.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { survive } from './fault.ts';
import { SmallDisk } from './full-disk.ts';
import { atMoment, type Moment, onLine } from './kill.ts';
import { judgeBoots, judgeWhole } from './restore-judge.ts';
import { updateSteps } from './restore-moments.ts';
import type { RestoreStage } from './restore-stage.ts';
import { begin, lastLine, wordsOf } from './restore-tries.ts';
import type { Play } from './run-plays.ts';

// Damaged restore points, and full disks.

type Damage = Pick<Play, 'name' | 'run'>;

const placesOf = async ({ instance }: RestoreStage): Promise<string[]> => {
  const directory = join(instance.directory, '.svc-updater', 'restore');
  return (await readdir(directory)).sort().map((name) => join(directory, name));
};

/** A saved file. */
const savedFile = async (stage: RestoreStage): Promise<string> => {
  const [place = ''] = (await placesOf(stage)).reverse();
  const { stdout } = await execa('find', [place, '-name', 'large', '-type', 'f']);
  const [path] = stdout.split('\n');
  if (!path) throw new Error(`there is no saved file in ${place}`);
  return path;
};

const flip = async (path: string): Promise<void> => {
  const bytes = await readFile(path);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
};

const spoiled: Record<string, (stage: RestoreStage) => Promise<unknown>> = {
  'a bit of a saved file differs': async (stage) => flip(await savedFile(stage)),
  'a saved file is cut': async (stage) => truncate(await savedFile(stage), 1_000),
  'a saved file has another owner': async (stage) => chown(await savedFile(stage), 77, 77),
  'a saved file is missing': async (stage) => rm(await savedFile(stage)),
  'a bit of the record differs': async (stage) => {
    for (const place of await placesOf(stage)) await flip(join(place, 'point.json'));
  },
};

/** `rollback` is refused, and changes nothing. */
const refusedRollback = (name: string, spoil: (stage: RestoreStage) => Promise<unknown>): Damage => ({
  name: `rollback: ${name}`,
  async run(stage, log) {
    const { good, boots } = await begin(stage, 'rollback');
    if (good === null) throw new Error('there is no good release');
    await spoil(stage);
    const result = await stage.instance.update(wordsOf.rollback);
    const facts = [
      ...(await judgeWhole(stage, good)),
      ...judgeBoots((await stage.boots()).slice(boots)),
      ...(result.exitCode === 0 ? [`it ended well: ${lastLine(result)}`] : []),
    ];
    log(result.log);
    survive(facts);
    return { ended: lastLine(result), isReusable: false };
  },
});

/** The outcome of the run is `broken`, and nothing is restored. */
const broken = (name: string, spoil: (stage: RestoreStage) => Promise<unknown>): Damage => ({
  name: `bad release: ${name}`,
  async run(stage, log) {
    const { boots } = await begin(stage, 'bad');
    const { run } = await atMoment(
      onLine('verify'),
      stage.instance,
      () => stage.instance.startUpdate(wordsOf.bad),
      () => spoil(stage),
    );
    const result = await run.done;
    const facts = judgeBoots((await stage.boots()).slice(boots));
    if (endingOf(result) !== 'broken') facts.push(`it ended: ${lastLine(result)}`);
    log(result.log);
    survive(facts);
    return { ended: lastLine(result), isReusable: false };
  },
});

/** The disk of the restore point is full from a moment on. With free space, the same command succeeds. */
const full = (moment: Moment): Damage => ({
  name: `the disk of the restore point is full ${moment.name}`,
  async run(stage, log) {
    const { old, boots } = await begin(stage, 'bad');
    const disk = await SmallDisk.mount(
      join(stage.instance.directory, '..', `${stage.instance.name}-points`),
      200_000_000,
    );
    stage.points = disk.directory;
    const options = { volumes: [`${disk.directory}:/points`], patience: 400 };
    const words = [...wordsOf.bad, '--restore-dir', '/points'];
    try {
      const { run, why } = await atMoment(
        moment,
        stage.instance,
        () => stage.instance.startUpdate(words, options),
        () => disk.leave({ bytes: 0 }),
      );
      const ended = await run.done;
      let result: UpdateResult = ended;
      await disk.makeRoom();
      if (endingOf(ended) !== 'failed') result = await stage.instance.update(words, options);
      await stage.instance.waitUntilHealthy(60);
      const facts = [
        ...(await judgeWhole(stage, old)),
        ...judgeBoots((await stage.boots()).slice(boots)),
        ...(endingOf(result) === 'failed' ? [] : [`it ended: ${lastLine(result)}`]),
      ];
      log(ended.log);
      survive(facts);
      return { ended: `${why ?? 'too late'}: ${lastLine(ended)}`, isReusable: false };
    } finally {
      await disk.makeRoom();
      await disk.unmount();
    }
  },
});

export const damages: readonly Damage[] = [
  ...Object.entries(spoiled).map(([name, spoil]) => refusedRollback(name, spoil)),
  broken('a bit of a saved file differs', async (stage) => flip(await savedFile(stage))),
  full(onLine('plan')),
  ...[0, 3, 7, 11, 12, 13].flatMap((at) => updateSteps[at] ?? []).map(full),
];
