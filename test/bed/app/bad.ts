import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { badReleases, type Fate } from '../bad-releases.ts';
import { damages } from './damage.ts';
import { type DatabaseKind, openSession, type Session } from './database.ts';
import { liveRow } from './writer.ts';

export interface BadPart {
  name: string;
  role: string;
  kind: DatabaseKind;
  becomeWell: () => void;
}

/** The part of app or worker in a release that is bad. */
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
  const session = await migrate(kind);
  if (release.at !== 'half of the migration') {
    await session.run('ALTER TABLE orders RENAME TO old_orders').catch(() => {});
    if (release.damage !== undefined) await damages[release.damage](kind);
  }
  await meet(release.app, kind, becomeWell);
}

/** Rows and files of its own, and a column; what a crash left of an earlier start is no hindrance. */
async function migrate(kind: DatabaseKind): Promise<Session> {
  writeFileSync('/uploads/of-the-bad-one.txt', `${Date.now()}\n`, { flag: 'a' });
  writeFileSync('/uploads/live/bad.log', '1\n', { flag: 'a' });
  let session = openSession(kind);
  for (let n = 1; n <= 50; n++) await session.run(liveRow(kind, 'bad', Date.now() % 1_000_000));
  try {
    await session.run('ALTER TABLE customers ADD COLUMN level integer DEFAULT 7');
    await session.run("UPDATE customers SET name = upper(name), note = 'migrated'");
  } catch {
    session = openSession(kind);
  }
  return session;
}

async function meet(fate: Fate | 'well', kind: DatabaseKind, becomeWell: () => void): Promise<void> {
  switch (fate) {
    case 'crash':
      process.exit(1);
      break;
    case 'killed for memory':
      for (const taken: Buffer[] = []; ; ) taken.push(Buffer.alloc(16 * 1024 * 1024, 1));
    case 'needs an hour': {
      const session = openSession(kind);
      await session.run('BEGIN');
      await session.run("UPDATE orders SET detail = 'slowly'");
      return forEver();
    }
    case 'dies after 10 s': {
      // Once: a second start is as bad as the first was.
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

/** It is not well, and works: whatever stands in the database when it is stopped is its own. */
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
