import { readFileSync } from 'node:fs';

/** What the test server takes from its environment; an empty value is none. */
export interface ServerSettings {
  version: string;
  /** Where it keeps everything. */
  data: string;
  updaterImage: string;
  updaterName: string;
  /** Seconds until it gives up on a new version; the updater's own default where it is null. */
  updaterWait: string | null;
  feedUrl: string | null;
  registryCredentials: string | null;
  engine: string | null;
  updaterSocket: string | null;
  /** Made on purpose, as in `entry.sh`. */
  fault: string | null;
  readyAfterSeconds: number;
  /** So long nobody listens after a start. */
  migratesUntil: string | null;
}

export function readSettings(env: NodeJS.ProcessEnv): ServerSettings {
  const text = (key: string) => env[key] || null;
  return {
    version: readFileSync('/etc/svc-version', 'utf8').trim(),
    data: text('DATA') ?? '/data',
    updaterImage: text('UPDATER_IMAGE') ?? 'svc-updater:dev',
    updaterName: text('UPDATER_NAME') ?? 'svc-updater',
    updaterWait: text('UPDATER_WAIT'),
    feedUrl: text('FEED_URL'),
    registryCredentials: text('REGISTRY_CREDENTIALS'),
    engine: text('ENGINE'),
    updaterSocket: text('UPDATER_SOCKET'),
    fault: text('FAULT_APP'),
    readyAfterSeconds: Number(text('READY_AFTER') ?? 0),
    migratesUntil: text('MIGRATES_UNTIL'),
  };
}
