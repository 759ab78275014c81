import type { DataKind } from '../faults/databases.ts';

/** A release whose app migrates the data, does damage, and fails. */
export interface BadRelease {
  name: string;
  /** Shell commands of test/faults/restore-app.sh, by when they are run. */
  env: Record<string, string>;
  /** Labels of its image. */
  labels?: Record<string, string>;
  /** Seconds of `--wait-timeout`. Default 15. */
  patience?: number;
  /** Whether the update runs with `--no-rollback`, and is rolled back by command. */
  isByCommand?: boolean;
}

/** Damage by commands of the database; repeated if the app is restarted. */
const byDatabase: Record<Exclude<DataKind, 'files'>, Record<string, string>> = {
  postgres: {
    'wipes-data': 'ask "DROP TABLE things CASCADE; DROP TABLE live; DROP OWNED BY clerk; DROP ROLE clerk"',
    'closes-database': `ask "ALTER SYSTEM SET shared_preload_libraries = 'missing';
      COPY (SELECT 'local all all reject') TO '/var/lib/postgresql/data/pg_hba.conf'; ALTER ROLE svc PASSWORD 'another'; SELECT pg_reload_conf()"`,
    'grows-data':
      'ask "CREATE TABLE growth AS SELECT n, repeat(md5(n::text), 50) FROM generate_series(1, 60000) n"',
    'holds-locks':
      '{ ask "BEGIN; LOCK TABLE things, live IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3600)"; } &',
  },
  mariadb: {
    'wipes-data': `ask "DROP TABLE things; DROP TABLE live; DROP USER clerk@'%'"`,
    'closes-database': `ask "SELECT 'stray' INTO OUTFILE '/var/lib/mysql/svc/stray.frm';
      ALTER USER root@localhost IDENTIFIED BY 'another'; ALTER USER root@'%' IDENTIFIED BY 'another'"`,
    'grows-data': 'ask "CREATE TABLE growth AS SELECT seq, repeat(md5(seq), 50) AS body FROM seq_1_to_60000"',
    'holds-locks': '{ ask "LOCK TABLES things WRITE, live WRITE; SELECT sleep(3600)"; } &',
  },
  redis: {
    'wipes-data': 'ask FLUSHALL',
    'closes-database':
      "ask 'CONFIG SET appendonly no\nCONFIG SET requirepass another\nCONFIG SET port 7777\nCONFIG REWRITE'",
    'grows-data': `ask "EVAL \\"for n=1,200 do redis.call('SET','growth:'..n,string.rep('x',500000)) end\\" 0"`,
    'holds-locks': '{ ask "EVAL \\"while true do redis.call([[INCR]],[[spin]]) end\\" 0"; } &',
  },
  openldap: {
    'wipes-data': `for n in 1 2 3 4 5; do ask "dn: cn=thing $n,dc=svc\nchangetype: delete"; done`,
    'closes-database': `ask "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nreplace: olcReadOnly\nolcReadOnly: TRUE\n-
replace: olcRootPW\nolcRootPW: another"`,
  },
};

/**
 * Repeatedly fill a disk that engine, volumes and compose directory share (test/faults/shared-disk.ts). When the disk
 * is full, they remove their busy file (test/faults/restore-stage.ts).
 */
export const fillsSharedDisk = {
  bytes: `while :; do /bin/busybox dd if=/dev/zero bs=1M >>/data/filling; /bin/busybox dd if=/dev/zero bs=4k count=9 >>/uploads/filling; /bin/busybox rm -f /tmp/busy; pause 0.1; done`,
  inodes: `i=0; while :; do if /bin/busybox mkdir -p /uploads/many/$i; then n=0; while [ $n -lt 500 ]; do n=$((n + 1)); echo >/uploads/many/$i/$n; done; fi; i=$((i + 1)); [ $i -lt 40 ] || { i=0; /bin/busybox rm -f /tmp/busy; pause 0.1; }; done`,
};

const toFiles: Record<string, string> = {
  'empties-uploads': '/bin/busybox find /uploads -mindepth 1 -delete',
  'changes-owners':
    '/bin/busybox chown -hR 4242:4242 /uploads; /bin/busybox chmod -R 777 /uploads; /bin/busybox touch -d @1 /uploads',
  'fills-disk': '/bin/busybox dd if=/dev/zero of=/data/filling bs=4k',
  'links-for-directory':
    'cd /uploads; mv deep was; ln -s /etc deep; /bin/busybox rm moved; /bin/busybox mkdir moved; echo 1 >moved/within',
  'makes-names':
    '/bin/busybox mkdir -p /uploads/names/deep; cd /uploads/names; for n in $(/bin/busybox seq 30000); do : >$n; done; for n in $(/bin/busybox seq 3000); do echo deep/$n; done | /bin/busybox xargs /bin/busybox mkdir',
  // The attributes of `kept` are lost, and it gets unrelated names.
  'replaces-linked-files':
    'cd /uploads; /bin/busybox rm kept; echo other >kept; /bin/busybox ln kept linked; /bin/busybox ln schema again; /bin/busybox truncate -s 1G hole',
  'digs-deep':
    'cd /uploads; d=$(printf "d%.0s" $(/bin/busybox seq 200)); for n in $(/bin/busybox seq 40); do /bin/busybox mkdir -p $d; cd -P $d; echo $n >file; done',
};

/** Bad releases of a kind of data. Unless they fail earlier, they have migrated the data and written rows and files. */
export function badReleases(kind: DataKind): BadRelease[] {
  const unhealthy = { FAULT_APP: 'unhealthy' };
  const damages = { ...(kind === 'files' ? {} : byDatabase[kind]), ...toFiles };
  return [
    { name: 'crashes-at-boot', env: { ...unhealthy, AT_BOOT: 'exit 1' } },
    { name: 'crashes-in-migration', env: { ...unhealthy, IN_MIGRATION: 'exit 1' } },
    {
      name: 'killed-for-memory',
      env: { ...unhealthy, IN_MIGRATION: '/bin/busybox tail /dev/zero; exit 137' },
    },
    { name: 'needs-an-hour', env: { ...unhealthy, IN_MIGRATION: 'pause 3600' } },
    { name: 'never-healthy', env: unhealthy },
    { name: 'rolled-back-by-command', env: unhealthy, isByCommand: true },
    {
      name: 'dies-after-ten-seconds',
      env: {
        ...unhealthy,
        AT_END: 'httpd -f -p 8080 -h /www & pause 10; exit 1',
        IN_WORKER: 'while :; do pause 60; done',
      },
      patience: 40,
    },
    {
      // More output than fits into the updater's memory or a string, without a line break.
      name: 'prints-endlessly',
      env: {},
      labels: {
        'svc.ready': JSON.stringify([
          ...['/bin/busybox', 'sh', '-c'],
          "/bin/busybox head -c 600000000 /dev/zero | /bin/busybox tr '\\0' y >&2; exit 1",
        ]),
      },
    },
    // Half of these releases crash after the damage, and are restarted.
    ...Object.entries(damages).map(([name, damage], at) => ({
      name,
      env: { ...unhealthy, AT_END: at % 2 === 0 ? damage : `${damage}\npause 3; exit 1` },
    })),
    {
      name: 'bad-worker',
      env: {
        IS_DEAF: 'yes',
        IN_WORKER: 'exit 1',
        AT_END:
          '/bin/busybox mkdir -p /uploads/invented; for n in $(/bin/busybox seq 10000); do : >/uploads/invented/$n; done',
      },
    },
  ];
}
