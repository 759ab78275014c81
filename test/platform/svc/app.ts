import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from '@hono/node-server';
import { migrate, openDatabase } from './database.ts';
import { routes } from './routes.ts';
import type { Settings } from './settings.ts';
import { createUpdates } from './updates.ts';

/** The app: migrates the database, serves the dashboard and updates the instance on request. */
export async function runApp(settings: Settings): Promise<void> {
  const db = await openDatabase(settings.databaseUrl);
  const migrated = await migrate(db, settings.version);
  for (const { version } of migrated) console.log(`migrated the database to ${version}`);
  await sleep(settings.bootMs);

  const updates = createUpdates(settings, db);
  const { fetch } = routes(settings, db, updates);
  const server = serve({ fetch, port: 8080 }, () => console.log(`svc ${settings.version} listens on 8080`));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, async () => {
      server.close();
      await updates.close();
      process.exit(0);
    });
  }
  await updates.start();
}
