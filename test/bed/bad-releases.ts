/** What a release's app does first, each a notion of `app/damage.ts`. */
export type Damage =
  | 'drop table and column'
  | 'drop role'
  | 'empty uploads'
  | 'change owners'
  | 'fill disk'
  | 'change password'
  | 'hold locks'
  | 'create databases and roles'
  | 'link for directory'
  | 'write 10,000 files'
  | 'prepare transaction'
  | 'rewrite sequences';

/** How its processes go on from there. `crash`: they exit, and are started again for ever. */
export type Fate = 'crash' | 'unhealthy' | 'killed for memory' | 'dies after 10 s' | 'needs an hour';

export interface BadRelease {
  name: string;
  damage?: Damage;
  /** What its app does after the migration and the damage. */
  app: Fate | 'well';
  /** Where it ends. Default: after the migration. */
  at?: 'boot' | 'half of the migration';
  /** Default: as the app. */
  worker?: Fate | 'well';
  /** Seconds of `--wait-timeout` where the default is too long, or too short. */
  patience?: number;
  /** Neither app nor worker hears SIGTERM. */
  isDeaf?: true;
}

/** All that `scripts/bed` counts. Those that damage something else have migrated before, and have written rows and files of their own. */
export const badReleases: readonly BadRelease[] = [
  { name: 'crashes-at-boot', app: 'crash', at: 'boot' },
  { name: 'crashes-in-migration', app: 'crash', at: 'half of the migration' },
  { name: 'crashes-after-migration', app: 'crash' },
  { name: 'killed-for-memory', app: 'killed for memory', at: 'half of the migration' },
  { name: 'never-healthy', app: 'unhealthy' },
  { name: 'dies-after-ten-seconds', app: 'dies after 10 s', worker: 'unhealthy', patience: 60 },
  { name: 'drops-table-and-column', damage: 'drop table and column', app: 'crash' },
  { name: 'drops-role', damage: 'drop role', app: 'unhealthy' },
  { name: 'empties-uploads', damage: 'empty uploads', app: 'unhealthy' },
  { name: 'changes-owners', damage: 'change owners', app: 'unhealthy' },
  { name: 'fills-disk', damage: 'fill disk', app: 'crash' },
  { name: 'changes-password', damage: 'change password', app: 'crash' },
  { name: 'holds-locks', damage: 'hold locks', app: 'unhealthy', isDeaf: true },
  { name: 'needs-an-hour', app: 'needs an hour', at: 'half of the migration', patience: 15 },
  { name: 'creates-database-and-role', damage: 'create databases and roles', app: 'unhealthy' },
  { name: 'links-for-directory', damage: 'link for directory', app: 'unhealthy' },
  { name: 'writes-10000-files', damage: 'write 10,000 files', app: 'unhealthy' },
  { name: 'leaves-prepared-transaction', damage: 'prepare transaction', app: 'crash' },
  { name: 'rewrites-sequences', damage: 'rewrite sequences', app: 'crash' },
  { name: 'bad-worker', app: 'well', worker: 'crash', isDeaf: true },
];
