import { readFileSync } from 'node:fs';

/** What the test server takes from its environment; an empty value is none. */
export interface ServerSettings {
  version: string;
  /** Where it keeps everything. */
  data: string;
  updaterImage: string;
  updaterName: string;
  updaterPull: 'always' | 'missing';
  /** Seconds until it gives up on a new version; the updater's own default where it is null. */
  updaterWait: string | null;
  feedUrl: string | null;
  registryCredentials: string | null;
  engine: string | null;
  updaterSocket: string | null;
  /** The app's service, where it is not the server's own. */
  app: string | null;
  /** Whether the queue's hold outlives the process. */
  keepsHold: boolean;
  /** Whether images are fetched ahead. */
  ahead: boolean;
  /** Whether it makes a dump before an update. */
  makesDump: boolean;
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
    updaterPull: text('UPDATER_PULL') === 'always' ? 'always' : 'missing',
    updaterWait: text('UPDATER_WAIT'),
    feedUrl: text('FEED_URL'),
    registryCredentials: text('REGISTRY_CREDENTIALS'),
    engine: text('ENGINE'),
    updaterSocket: text('UPDATER_SOCKET'),
    app: text('APP_SERVICE'),
    ahead: text('AHEAD') === 'yes',
    makesDump: text('MAKES_DUMP') === 'yes',
    keepsHold: text('QUEUE_HOLD') !== 'memory',
    fault: text('FAULT_APP'),
    readyAfterSeconds: Number(text('READY_AFTER') ?? 0),
    migratesUntil: text('MIGRATES_UNTIL'),
  };
}
