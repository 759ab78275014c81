import { appendFile, mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { endingOf } from '../judge/log.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { expectThat, Lost } from './fault.ts';
import { SmallDisk } from './full-disk.ts';
import { atMoment, type Moment, onLine } from './kill.ts';
import { judgeBoots, judgeWhole } from './restore-judge.ts';
import { onRecord } from './restore-moments.ts';
import type { RestoreStage } from './restore-stage.ts';
import { begin, lastLine, wordsOf } from './restore-tries.ts';

// Restore points that were changed or cut, records that were forged, and disks that fill.

export interface Damage {
  name: string;
  /** @throws Lost */
  play(stage: RestoreStage): Promise<string>;
}

const placesOf = async ({ instance }: RestoreStage): Promise<string[]> => {
  const directory = join(instance.directory, '.svc-updater', 'restore');
  return (await readdir(directory)).sort().map((name) => join(directory, name));
};

const kept = async (stage: RestoreStage): Promise<string> => {
  const [place = ''] = (await placesOf(stage)).reverse();
  const names = (await readdir(place)).filter((name) => !['point.json', 'reserve'].includes(name)).sort();
  if (names[0] === undefined) throw new Error('nothing was kept as a file');
  return join(place, names[0]);
};

const flip = async (path: string): Promise<void> => {
  const bytes = await readFile(path);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
};

const spoiled: Record<string, (stage: RestoreStage) => Promise<unknown>> = {
  'a bit of what was kept is another': async (stage) => flip(await kept(stage)),
  'what was kept is cut': async (stage) => truncate(await kept(stage), 1_000),
  'what was kept is longer': async (stage) => appendFile(await kept(stage), 'more'),
  'the record is cut': async (stage) => {
    for (const place of await placesOf(stage)) await truncate(join(place, 'point.json'), 300);
  },
  'the record names a directory of the machine': (stage) => forge(stage),
};

/** As the owner of the compose directory could, who puts a copy of his own there: a bind that neither containers nor files have. */
async function forge(stage: RestoreStage): Promise<void> {
  for (const place of await placesOf(stage)) {
    const path = join(place, 'point.json');
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replaceAll(`"${stage.trees.data}"`, `"${await victim(stage)}"`));
    await execa('chown', ['-R', '1000:1000', place]);
  }
}

/** Somebody else's, where a point that was forged leads. */
const victim = async ({ instance }: RestoreStage): Promise<string> => {
  const path = join(instance.directory, '..', `${instance.name}-victim`);
  if ((await mkdir(path, { recursive: true })) !== undefined) await writeFile(join(path, 'passwd'), 'root\n');
  return path;
};

async function expectUnharmed(stage: RestoreStage): Promise<void> {
  const path = join(await victim(stage), 'passwd');
  const text = await readFile(path, 'utf8').catch(() => 'nothing');
  expectThat(text === 'root\n', `a directory of the machine was written: ${path} holds ${text}`);
}

/** `back` refuses, and touches nothing. */
const refusedBack = (name: string, spoil: (stage: RestoreStage) => Promise<unknown>): Damage => ({
  name: `back, where ${name}`,
  async play(stage) {
    const { good, boots } = await begin(stage, 'back');
    if (good === null) throw new Error('there is no good release');
    await spoil(stage);
    const result = await stage.instance.update(wordsOf.back);
    const facts = [
      ...(await judgeWhole(stage, good)),
      ...judgeBoots((await stage.boots()).slice(boots)),
      ...(result.exitCode === 0 ? [`it ended well: ${lastLine(result)}`] : []),
    ];
    await expectUnharmed(stage);
    if (facts.length > 0) throw new Lost(facts);
    return lastLine(result);
  },
});

/** After a bad release the run ends broken, and the new version stays on its data. */
const broken = (name: string, spoil: (stage: RestoreStage) => Promise<unknown>): Damage => ({
  name: `a bad release, where ${name}`,
  async play(stage) {
    const { boots } = await begin(stage, 'bad');
    const { run } = await atMoment(
      onLine('verify'),
      stage.instance,
      () => stage.instance.startUpdate(wordsOf.bad),
      () => spoil(stage),
    );
    const result = await run.done;
    await expectUnharmed(stage);
    const facts = judgeBoots((await stage.boots()).slice(boots));
    if (endingOf(result) !== 'broken') facts.push(`it ended: ${lastLine(result)}`);
    if (facts.length > 0) throw new Lost(facts);
    return lastLine(result);
  },
});

/** Killed on the way back, and its records forged before the next run. */
const forgedOnTheWay: Damage = {
  name: 'killed on the way back, where the record names a directory of the machine',
  async play(stage) {
    await begin(stage, 'bad');
    const { run } = await atMoment(
      onLine(/putting the data/),
      stage.instance,
      () => stage.instance.startUpdate(wordsOf.bad),
      (struck) => struck.kill(),
    );
    await run.done;
    await forge(stage);
    const result = await stage.instance.update(wordsOf.bad);
    await expectUnharmed(stage);
    return lastLine(result);
  },
};

/** The disk of the restore point is full from a moment on; with room again the same words end well. */
const full = (moment: Moment): Damage => ({
  name: `the disk of the restore point is full ${moment.name}`,
  async play(stage) {
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
      if (facts.length > 0) throw new Lost([...facts, `its first end: ${lastLine(ended)}`, ended.log]);
      return `${why ?? 'too late'}: ${lastLine(ended)}`;
    } finally {
      await disk.makeRoom();
      await disk.unmount();
    }
  },
});

export const damages: readonly Damage[] = [
  ...Object.entries(spoiled).map(([name, spoil]) => refusedBack(name, spoil)),
  ...Object.entries(spoiled).map(([name, spoil]) => broken(name, spoil)),
  forgedOnTheWay,
  full(onLine('plan')),
  ...[/then keeping the data/, /kept /, /going back to/, /putting the data/].map((line) =>
    full(onLine(line)),
  ),
  ...[2, 4, 6].map((k) => full(onRecord(k))),
];
