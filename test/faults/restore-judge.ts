import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { differs } from '../judge/differs.ts';
import { askEngine, type ContainerInspection, findContainers, listContainers } from '../rig/engine-api.ts';
import { fileStates } from '../rig/snapshot.ts';
import type { RestoreStage } from './restore-stage.ts';
import { versions } from './restore-stage.ts';

// Whether an instance is wholly of one time, by programs that are none of the updater's.

export interface Whole {
  /** By what they tell of. */
  data: Record<string, string>;
  files: object;
  /** App and worker, which may be other containers than before. */
  moved: Record<string, object>;
  /** The very same runs of the very same containers. */
  others: Record<string, object>;
}

const movedServices = ['app', 'worker'];

export async function lookWhole(stage: RestoreStage): Promise<Whole> {
  const { directory, project } = stage.instance;
  const [trees, database, files, containers] = await Promise.all([
    Promise.all(Object.entries(stage.trees).map(async ([name, path]) => [name, await walk(path)] as const)),
    lookAtDatabase(stage),
    fileStates(directory),
    findContainers(project),
  ]);
  const own = containers.filter(({ Config }) => Config.Labels['com.docker.compose.project'] === project);
  const of = (isMoved: boolean, tell: (each: ContainerInspection) => object) =>
    Object.fromEntries(
      own
        .filter(({ Config }) => movedServices.includes(serviceOf(Config)) === isMoved)
        .map((each) => [each.Name, tell(each)]),
    );
  return {
    data: { ...Object.fromEntries(trees), ...database },
    files,
    moved: of(true, ({ Image, Config, State, HostConfig: { RestartPolicy }, Mounts }) => ({
      ...{ Image, reference: Config.Image, status: State.Status, RestartPolicy },
      ...{ health: State.Health?.Status, mounts: Mounts.map(({ Source }) => Source).sort() },
    })),
    others: of(false, ({ Id, State, HostConfig: { RestartPolicy } }) => ({
      ...{ Id, started: State.StartedAt, status: State.Status, RestartPolicy },
    })),
  };
}

const serviceOf = ({ Labels }: ContainerInspection['Config']) => Labels['com.docker.compose.service'] ?? '';

/** Names, kinds, modes, owners, sizes, times, links, attributes, contents. */
async function walk(directory: string): Promise<string> {
  const script = `export LC_ALL=C; cd "$1"; find . -printf '%p|%y|%m|%U:%G|%T@|%l\\n' | sort
    find . -type f -printf '%p|%n|%s\\n' | sort; find . ! -type s -print0 | sort -z | xargs -0 getfattr -h -d -m - -e hex 2>/dev/null
    find . -type f -print0 | sort -z | xargs -0 -r sha256sum`;
  return (await execa('bash', ['-euc', script, 'walk', directory], { maxBuffer: 1e9 })).stdout;
}

/** Copies that lie beside the databases. */
const copies = /svc_(?:point|kept)_/;

async function lookAtDatabase(stage: RestoreStage): Promise<Record<string, string>> {
  if (stage.kind === 'mariadb') {
    const dump = `export MYSQL_PWD="$MARIADB_ROOT_PASSWORD"; exec mariadb-dump -uroot --routines --triggers --events --skip-dump-date --order-by-primary --hex-blob --databases svc`;
    return {
      schemas: await stage.sql('SHOW DATABASES'),
      accounts: await stage.sql('SELECT Host, User, Priv FROM mysql.global_priv ORDER BY 1, 2'),
      settings: await stage.sql('SELECT @@event_scheduler, @@read_only, @@max_connections'),
      rows: await stage.inDatabase(['sh', '-c', dump]),
    };
  }
  if (stage.kind === 'postgres') {
    const databases = await stage.sql(
      'SELECT datname, pg_get_userbyid(datdba), datacl, datconnlimit, datallowconn, datistemplate FROM pg_database ORDER BY 1',
    );
    const dump = await stage.inDatabase(['pg_dump', '-U', 'svc', '--create', 'svc']);
    return {
      databases: databases
        .split('\n')
        .filter((line) => !copies.test(line))
        .join('\n'),
      roles: (await stage.inDatabase(['pg_dumpall', '-U', 'svc', '--roles-only'])).replace(
        /^\\(un)?restrict .*\n/gm,
        '',
      ),
      rows: dump
        .replace(/^\\(un)?restrict .*\n/gm, '')
        .split('\n')
        .sort()
        .join('\n'),
    };
  }
  return {};
}

/** Everything is as it was then, and nothing is half. @param struck services that were killed on purpose */
export async function judgeWhole(
  stage: RestoreStage,
  then: Whole,
  struck: readonly string[] = [],
): Promise<string[]> {
  const now = await lookWhole(stage);
  const same = (others: Whole['others']) =>
    Object.fromEntries(
      Object.entries(others).map(([name, each]) =>
        struck.some((service) => name.includes(`-${service}-`))
          ? [name, { ...each, started: '' }]
          : [name, each],
      ),
    );
  return [
    ...Object.keys({ ...then.data, ...now.data }).flatMap((what) =>
      differingLines(what, then.data[what], now.data[what]),
    ),
    ...differs('compose files', then.files, now.files),
    ...differs('containers', then.moved, now.moved),
    ...differs('other containers', same(then.others), same(now.others)),
    ...(await judgeRemains(stage)),
  ];
}

/** The lines that only one of them has, a few. */
function differingLines(what: string, then = '', now = ''): string[] {
  if (then === now) return [];
  const only = (text: string, other: string) => {
    const known = new Set(other.split('\n'));
    return text.split('\n').filter((line) => !known.has(line));
  };
  const lines = [
    ...only(then, now).map((line) => `- ${line}`),
    ...only(now, then).map((line) => `+ ${line}`),
  ];
  const shown = lines.slice(0, 6).map((line) => line.slice(0, 200));
  return [`${what} differ in ${lines.length} lines: ${shown.join(' ; ')}`];
}

/** What a kill may leave: containers, copies, holders of images, a journal that is not at its end. */
export async function judgeRemains(stage: RestoreStage): Promise<string[]> {
  const { project, directory } = stage.instance;
  const places = await readdir(stage.points).catch(() => []);
  const scratch = await listContainers({ label: [`svc-updater.scratch=${project}`] });
  const all = await askEngine(
    'GET',
    `/containers/json?all=1&filters=${encodeURIComponent(JSON.stringify({ label: ['svc-updater.restore-point'] }))}`,
  );
  const held = (JSON.parse(all.body) as { Labels: Record<string, string> }[])
    .map(({ Labels }) => Labels['svc-updater.restore-point'] ?? '')
    .filter((owner) => owner.startsWith(`${project}/`))
    .filter((owner) => !places.some((place) => owner.endsWith(`/${place.toLowerCase()}`)));
  const beside =
    stage.kind === 'postgres'
      ? (await stage.sql('SELECT datname FROM pg_database')).split('\n').filter((name) => copies.test(name))
      : [];
  const strays = beside.filter((name) => !places.some((place) => name.includes(place.toLowerCase())));
  const text = await readFile(join(directory, '.svc-updater', 'journal.json'), 'utf8').catch(() => '{}');
  const { phase, outcome } = JSON.parse(text) as { phase?: string; outcome?: unknown };
  return [
    ...scratch.map((name) => `left over: scratch container ${name}`),
    ...held.map((owner) => `left over: a holder of images of ${owner}`),
    ...strays.map((name) => `left over: database ${name}`),
    ...(places.length > 1 ? [`${places.length} restore points are kept: ${places.join(', ')}`] : []),
    ...(outcome === null ? [`the journal is not at its end, but in ${phase}`] : []),
  ];
}

/** No start of the old version on data that a newer one has touched. */
export const judgeBoots = (boots: readonly string[]): string[] =>
  boots
    .filter((boot) => boot.split(' ')[1] === versions.old)
    .filter((boot) =>
      boot
        .split(' ')
        .slice(3)
        .some((schema) => schema !== versions.old && schema !== 'closed'),
    )
    .map((boot) => `the old version was started on newer data: ${boot}`);

/** The operator's own `up` makes nothing anew. */
export async function judgeUp(stage: RestoreStage): Promise<string[]> {
  const ids = async () =>
    (await findContainers(stage.instance.project))
      .map(({ Name, Id, State }) => `${Name} ${Id} ${State.StartedAt}`)
      .sort();
  const before = await ids();
  await stage.instance.compose('up', '-d');
  return differs('containers after the own docker compose up -d', before, await ids());
}
