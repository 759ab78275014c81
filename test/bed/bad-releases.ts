/** What the app of a release does to the data: see `app/damage.ts`. */
export type Damage =
  | 'wipe data'
  | 'drop accounts'
  | 'change password'
  | 'close database'
  | 'change configuration'
  | 'add data'
  | 'grow data'
  | 'hold locks'
  | 'empty uploads'
  | 'change owners'
  | 'fill disk'
  | 'link for directory'
  | 'write 10,000 files'
  | 'dig deep';

/** What its processes do afterwards. `crash`: they exit, and the engine starts them again and again. */
export type Fate = 'crash' | 'unhealthy' | 'killed for memory' | 'dies after 10 s' | 'needs an hour';

export interface BadRelease {
  name: string;
  damage?: Damage;
  /** What its app does after the migration and the damage. */
  app: Fate | 'well';
  /** Where it stops. Default: after the migration. */
  at?: 'boot' | 'half of the migration';
  /** Default: the same as the app. */
  worker?: Fate | 'well';
  /** Seconds of `--wait-timeout`. */
  patience?: number;
  /** Neither app nor worker reacts to SIGTERM. */
  isDeaf?: true;
}

/** Those with a damage have migrated first, and have written rows and files of their own. */
export const badReleases: readonly BadRelease[] = [
  { name: 'crashes-at-boot', app: 'crash', at: 'boot' },
  { name: 'crashes-in-migration', app: 'crash', at: 'half of the migration' },
  { name: 'killed-for-memory', app: 'killed for memory', at: 'half of the migration' },
  { name: 'never-healthy', app: 'unhealthy' },
  { name: 'dies-after-ten-seconds', app: 'dies after 10 s', worker: 'unhealthy', patience: 40 },
  { name: 'needs-an-hour', app: 'needs an hour', at: 'half of the migration' },
  { name: 'wipes-data', damage: 'wipe data', app: 'crash' },
  { name: 'drops-accounts', damage: 'drop accounts', app: 'unhealthy' },
  { name: 'changes-password', damage: 'change password', app: 'crash' },
  { name: 'closes-database', damage: 'close database', app: 'unhealthy' },
  { name: 'changes-configuration', damage: 'change configuration', app: 'crash' },
  { name: 'adds-data', damage: 'add data', app: 'unhealthy' },
  { name: 'grows-data', damage: 'grow data', app: 'crash', patience: 30 },
  { name: 'holds-locks', damage: 'hold locks', app: 'unhealthy' },
  { name: 'empties-uploads', damage: 'empty uploads', app: 'unhealthy' },
  { name: 'changes-owners', damage: 'change owners', app: 'unhealthy' },
  { name: 'fills-disk', damage: 'fill disk', app: 'crash' },
  { name: 'links-for-directory', damage: 'link for directory', app: 'unhealthy' },
  { name: 'digs-deep', damage: 'dig deep', app: 'unhealthy' },
  { name: 'bad-worker', damage: 'write 10,000 files', app: 'well', worker: 'crash', isDeaf: true },
];
