import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from './database.ts';
import { type JobRow, Jobs } from './jobs.ts';
import type { Settings } from './settings.ts';

const beatMs = 200;

/** Runs jobs from the queue, one at a time, until it receives a stop signal. */
export async function runWorker({ databaseUrl, version }: Settings): Promise<void> {
  const db = await openDatabase(databaseUrl);
  const jobs = new Jobs(db);
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort());

  // The app creates the tables, and both start at the same time.
  while (!(await isMigrated()) && !stopping.signal.aborted) await sleep(beatMs);
  await jobs.requeueRunning();
  await writeFile('/tmp/alive', '');
  console.log(`svc-worker ${version} is ready to run jobs`);
  while (!stopping.signal.aborted) {
    const job = await jobs.takeNext();
    if (job === null) await sleep(beatMs);
    else await work(job);
  }
  await jobs.requeueRunning();
  await db.end();

  /** The work itself, which a user may end early. */
  async function work(job: JobRow): Promise<void> {
    const until = Date.now() + job.seconds * 1000;
    while (Date.now() < until && !stopping.signal.aborted && !(await jobs.isDone(job.id)))
      await sleep(beatMs);
    if (!stopping.signal.aborted) await jobs.end(job.id);
  }

  async function isMigrated(): Promise<boolean> {
    const { rows } = await db.query<{ found: string | null }>("SELECT to_regclass('hold') AS found");
    return rows[0]?.found !== null;
  }
}
