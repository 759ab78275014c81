import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expectThat, Lost } from '../faults/fault.ts';
import type { TestHost } from '../rig/test-host.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import type { DatabaseKind } from './app/database.ts';
import { badReleases } from './bad-releases.ts';
import { BedInstance, badTag } from './bed-instance.ts';
import { expectBack, held, settled } from './expect.ts';
import { furtherRows } from './further-rows.ts';
import { shorten } from './judge/look.ts';
import { unguardedRows } from './unguarded.ts';

export interface BedChoice {
  /** Parts of the names of rows, separated by commas. */
  only: string;
  /** See `unguarded.ts`. */
  isUnguarded: boolean;
  /** For the logs of runs. */
  directory: string;
  say: (line: string) => void;
}

export interface Score {
  bad: number;
  well: number;
  further: number;
  furtherWell: number;
}

/** From a healthy instance to a healthy instance, as before. @throws Lost */
export interface BedRow {
  name: string;
  play(instance: BedInstance, note: (result: UpdateResult) => void): Promise<void>;
}

/** All bad releases one after the other on one instance, then the further rows. After a lost one, a new instance is started. */
export async function runBed(host: TestHost, database: DatabaseKind, choice: BedChoice): Promise<Score> {
  const score: Score = { bad: 0, well: 0, further: 0, furtherWell: 0 };
  const bad = badReleases.map(({ name, patience }, at) => badRow(name, at % 2 === 1, patience));
  const all = choice.isUnguarded ? unguardedRows : [...bad, ...furtherRows];
  const rows = all.filter(({ name }) => choice.only.split(',').some((part) => name.includes(part)));
  let instance: BedInstance | null = null;
  try {
    for (const row of rows) {
      instance ??= await BedInstance.start(host, database);
      const isWell = await runRow(instance, row, choice);
      const isBad = !furtherRows.includes(row);
      score[isBad ? 'bad' : 'further'] += 1;
      if (isWell) score[isBad ? 'well' : 'furtherWell'] += 1;
      if (isWell && !choice.isUnguarded) continue;
      await instance.dispose();
      instance = null;
    }
  } finally {
    await instance?.dispose();
  }
  return score;
}

async function runRow(instance: BedInstance, row: BedRow, { directory, say }: BedChoice): Promise<boolean> {
  const began = performance.now();
  const logs: string[] = [];
  const tell = (word: string) => {
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    say(`${word.padEnd(5)} ${instance.database.padEnd(9)} ${row.name.padEnd(28)} ${seconds.padStart(4)} s`);
  };
  try {
    await row.play(instance, (result) => logs.push(result.log));
    tell('ok');
    return true;
  } catch (error) {
    tell('LOST');
    const facts = error instanceof Lost ? error.facts : [(error as Error).stack ?? String(error)];
    for (const fact of shorten(facts)) say(`      ${fact}`);
    const state = await instance.compose('logs', '--timestamps').catch(String);
    logs.push(state);
    return false;
  } finally {
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, `${instance.database}-${row.name}.log`), logs.join('\n\n'));
  }
}

/** @param isPaused see `judge/look.ts` */
function badRow(name: string, isPaused: boolean, patience = 25): BedRow {
  return {
    name,
    async play(instance, note) {
      const known = await settled(instance, 'v1.0.0');
      const before = await held(instance, isPaused);
      const wait = ['--wait-timeout', `${patience}`];
      const result = await instance.run('update', '--restore-point', '--target', badTag(name), ...wait);
      note(result);
      expectThat(result.exitCode === 4, `exit code ${result.exitCode}: ${lastLine(result)}`);
      const told =
        /rolled-back\): v1\.0\.0 is running again with the data saved at [\d-]+ \d\d:\d\d:\d\d UTC/;
      expectThat(told.test(lastLine(result)), `the last line: ${lastLine(result)}`);
      await expectBack(instance, before, isPaused, known);
    },
  };
}

const lastLine = ({ log }: UpdateResult) => log.trim().split('\n').at(-1) ?? '';
