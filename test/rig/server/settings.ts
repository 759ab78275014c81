import { readFileSync } from 'node:fs';

/** Settings of the test server from the environment; an empty value counts as not set. */
export interface ServerSettings {
  version: string;
  /** The directory of all its data. */
  data: string;
  updaterImage: string;
  updaterName: string;
  /** Seconds until the updater gives up on a new version; null for the updater's default. */
  updaterWait: string | null;
  feedUrl: string | null;
  /** Whether each update saves a restore point. */
  restorePoint: boolean;
  registryCredentials: string | null;
  engine: string | null;
  updaterSocket: string | null;
  /** A deliberate fault, as in `entry.sh`. */
  fault: string | null;
  readyAfterSeconds: number;
  /** The time after a start during which the server does not listen. */
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
    restorePoint: text('RESTORE_POINT') !== null,
    registryCredentials: text('REGISTRY_CREDENTIALS'),
    engine: text('ENGINE'),
    updaterSocket: text('UPDATER_SOCKET'),
    fault: text('FAULT_APP'),
    readyAfterSeconds: Number(text('READY_AFTER') ?? 0),
    migratesUntil: text('MIGRATES_UNTIL'),
  };
}
