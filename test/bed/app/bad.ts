import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { badReleases, type Fate } from '../bad-releases.ts';
import { damages } from './damage.ts';
import { type DatabaseKind, openSession } from './database.ts';
import { liveRow, migrations } from './texts.ts';

export interface BadPart {
  name: string;
  role: string;
  kind: DatabaseKind;
  becomeWell: () => void;
}

/** App or worker of a bad release. */
export async function playBad({ name, role, kind, becomeWell }: BadPart): Promise<void> {
  const release = badReleases.find((each) => each.name === name) ?? { name, app: 'well' as const };
  if (release.isDeaf) process.on('SIGTERM', () => {});
  if (role === 'worker') {
    const fate = release.worker ?? release.app;
    if (fate === 'crash') process.exit(1);
    if (fate === 'well') becomeWell();
    return forEver();
  }
  if (release.at === 'boot') process.exit(1);
  const isHalf = release.at === 'half of the migration';
  await migrate(kind, isHalf);
  if (!isHalf && release.damage !== undefined) await damages[release.damage](kind);
  await meet(release.app, kind, becomeWell);
}

/** A start after a crash may find the migration done. */
async function migrate(kind: DatabaseKind, isHalf: boolean): Promise<void> {
  writeFileSync('/uploads/of-the-bad-one.txt', `${Date.now()}\n`, { flag: 'a' });
  writeFileSync('/uploads/live/bad.log', '1\n', { flag: 'a' });
  const session = openSession(kind);
  try {
    for (let n = 1; n <= 20; n++) await session.run(liveRow(kind, 'bad', (Date.now() % 1_000_000) + n));
    const steps = migrations[kind];
    for (const step of isHalf ? steps.slice(0, 1) : steps) await session.run(step);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
  }
}

async function meet(fate: Fate | 'well', kind: DatabaseKind, becomeWell: () => void): Promise<void> {
  switch (fate) {
    case 'crash':
      process.exit(1);
      break;
    case 'killed for memory':
      for (const taken: Buffer[] = []; ; ) taken.push(Buffer.alloc(16 * 1024 * 1024, 1));
    case 'needs an hour': {
      if (kind === 'postgres' || kind === 'mariadb')
        await openSession(kind).run("BEGIN; UPDATE orders SET detail = 'slowly'");
      return forEver();
    }
    case 'dies after 10 s': {
      // Only the first time: a second start is healthy, too.
      becomeWell();
      await sleep(10_000);
      process.exit(1);
      break;
    }
    case 'well':
      becomeWell();
      return forEver();
    case 'unhealthy':
      return keepWriting(kind);
  }
}

/** It writes until it is stopped. */
async function keepWriting(kind: DatabaseKind): Promise<void> {
  for (let n = 1; ; n++) {
    try {
      const session = openSession(kind);
      for (; ; n++) {
        await session.run(liveRow(kind, 'bad', n));
        if (existsSync('/uploads/live')) writeFileSync('/uploads/live/bad.log', `${n}\n`, { flag: 'a' });
        await sleep(5);
      }
    } catch {
      await sleep(500);
    }
  }
}

async function forEver(): Promise<void> {
  for (;;) await sleep(60_000);
}
