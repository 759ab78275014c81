import { createInstanceUpdates, type InstanceUpdates } from 'svc-updater/instance';
import { BuildServers } from './build-servers.ts';
import type { Database } from './database.ts';
import { Jobs } from './jobs.ts';
import { Sessions } from './sessions.ts';
import type { Settings } from './settings.ts';
import { updateStore } from './update-store.ts';

/** Everything that svc needs to update itself. */
export function createUpdates(settings: Settings, db: Database): InstanceUpdates {
  const sessions = new Sessions(db, settings.apiToken);
  const buildServers = new BuildServers(db);
  return createInstanceUpdates({
    version: settings.version,
    updaterImage: settings.updaterImage,
    updaterPull: settings.updaterPull,
    containerName: settings.updaterName,
    feed:
      settings.feedUrl === null ? null : { url: settings.feedUrl, trust: { keys: [settings.publisherKey] } },
    authorize: ({ headers }) => sessions.of(headers),
    queue: new Jobs(db),
    store: updateStore(db),
    restorePoint: true,
    prefetch: true,
    buildServers: async () => {
      const list = await buildServers.list();
      return list.map(({ name, version, command }) => ({ name, version, command }));
    },
  });
}
