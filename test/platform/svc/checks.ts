import { openDatabase } from './database.ts';
import type { Settings } from './settings.ts';

/** The label `svc.ready`: in the new app, after its health check. A login is more than the health check tries. */
export async function runReady(): Promise<void> {
  const origin = 'http://127.0.0.1:8080';
  const body = new URLSearchParams({ who: 'ben' });
  const answer = await fetch(`${origin}/login`, {
    method: 'POST',
    body,
    headers: { origin },
    redirect: 'manual',
  });
  if (answer.status !== 303) throw new Error(`users cannot log in: HTTP status ${answer.status}`);
}

/** The label `svc.preflight`: in a container of its own, while the old version is running. */
export async function runPreflight({ databaseUrl, version }: Settings): Promise<void> {
  const db = await openDatabase(databaseUrl);
  const { rows } = await db.query<{ number: string }>(
    "SELECT current_setting('server_version_num') AS number",
  );
  await db.end();
  const [running, needed] = [Math.floor(Number(rows[0]?.number) / 10_000), Number(process.argv[3])];
  const isNewEnough = running >= needed;
  const result = {
    level: isNewEnough ? 'pass' : 'fail',
    check: 'database',
    message: isNewEnough
      ? `PostgreSQL ${running} is running`
      : `svc ${version} requires PostgreSQL ${needed}, but PostgreSQL ${running} is running`,
    ...(!isNewEnough && { advice: `Upgrade the database to PostgreSQL ${needed} first.` }),
  };
  console.log(JSON.stringify(result));
}
