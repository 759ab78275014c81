import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { differs } from '../judge/differs.ts';
import { type ContainerInspection, findContainers, listContainers } from '../rig/engine-api.ts';
import { fileStates } from '../rig/snapshot.ts';
import { databases } from './databases.ts';
import type { RestoreStage } from './restore-stage.ts';
import { versions } from './restore-stage.ts';

// Checks that an instance is consistently of one version, without code of the updater.

export interface Whole {
  /** Dumps and file lists, by name. */
  data: Record<string, string>;
  files: object;
  /** App, worker and database, which may have been replaced by equal containers. */
  moved: Record<string, object>;
  /** All other containers, which must never have been stopped. */
  others: Record<string, object>;
}

const movedServices = ['app', 'worker', 'db'];

export async function lookWhole(stage: RestoreStage): Promise<Whole> {
  const { directory, project } = stage.instance;
  const [trees, database, files, containers] = await Promise.all([
    Promise.all(Object.entries(stage.trees).map(async ([name, path]) => [name, await walk(path)] as const)),
    stage.kind === 'files' ? '' : databases[stage.kind].dump(stage.inDatabase),
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
    data: { ...Object.fromEntries(trees), rows: database.split('\n').sort().join('\n') },
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

/** Names, types, modes, owners, sizes, times, links, attributes and contents. */
async function walk(directory: string): Promise<string> {
  const script = `export LC_ALL=C; cd "$1"; find . -printf '%p|%y|%m|%U:%G|%T@|%l\\n' | sort
    find . -type f -printf '%p|%n|%s\\n' | sort; find . ! -type s -print0 | sort -z | xargs -0 getfattr -h -d -m - -e hex 2>/dev/null
    find . -type f -print0 | sort -z | xargs -0 -r sha256sum`;
  return (await execa('bash', ['-euc', script, 'walk', directory], { maxBuffer: 1e9 })).stdout;
}

/**
 * Everything is as it was then.
 * @param struck services that were deliberately killed or replaced
 * @param isWriting app and worker continued to write, so that their own rows and files differ: see `judgeLive`
 */
export async function judgeWhole(
  stage: RestoreStage,
  then: Whole,
  struck: readonly string[] = [],
  isWriting = false,
): Promise<string[]> {
  const now = await lookWhole(stage);
  const same = (others: Whole['others']) =>
    Object.fromEntries(
      Object.entries(others).filter(([name]) => !struck.some((service) => name.includes(`-${service}-`))),
    );
  return [
    ...Object.keys({ ...then.data, ...now.data }).flatMap((what) =>
      differingLines(what, then.data[what], now.data[what], isWriting),
    ),
    ...differs('compose files', then.files, now.files),
    ...differs('containers', then.moved, now.moved),
    ...differs('other containers', same(then.others), same(now.others)),
    ...(await judgeRemains(stage)),
  ];
}

/** The name of a writing start: see restore-app.sh. */
const ofLive = new RegExp(`\\b(?:app|worker)-${versions.old}-[0-9a-f-]{36}`);

/** Some of the lines that only one of the texts contains. */
function differingLines(what: string, then = '', now = '', isWriting = false): string[] {
  const only = (text: string, other: string) => {
    const known = new Set(other.split('\n'));
    const isOwn = (line: string) => isWriting && ofLive.test(line);
    return text.split('\n').filter((line) => !known.has(line) && !isOwn(line));
  };
  const lines = [
    ...only(then, now).map((line) => `- ${line}`),
    ...only(now, then).map((line) => `+ ${line}`),
  ];
  if (then === now || (isWriting && lines.length === 0)) return [];
  const shown = lines.slice(0, 6).map((line) => line.slice(0, 200));
  return [`${what} differ in ${lines.length} lines: ${shown.join(' ; ')}`];
}

/**
 * Checks that the data is of one moment. Each start of app and worker writes 1, 2, 3 … to a table, then to a file,
 * then to the witness. Therefore rows and lines have no gaps, include all numbers of the witness, and at most one
 * number more. A bad version has left no data.
 */
export async function judgeLive(stage: RestoreStage): Promise<string[]> {
  const [wrote, files, rows] = await Promise.all([stage.wrote(), stage.liveLines(), stage.liveRows()]);
  const boots = new Set([...wrote.keys(), ...files.keys(), ...(rows?.keys() ?? [])]);
  return [...boots].flatMap((boot) => {
    const lines = files.get(boot) ?? [];
    const inTable = rows === null ? lines : (rows.get(boot) ?? []);
    const last = wrote.get(boot)?.[0] ?? 0;
    const found = `${boot}: ${inTable.length} rows, ${lines.length} lines, and the witness knows of ${last}`;
    if (!ofLive.test(boot)) return inTable.length + lines.length > 0 ? [found] : [];
    const isCounted = [inTable, lines].every((numbers) => numbers.every((n, at) => n === at + 1));
    const isOneMoment = last <= lines.length && lines.length <= inTable.length && inTable.length <= last + 1;
    return isCounted && isOneMoment ? [] : [found];
  });
}

/** Remains of a kill: containers, image tags, restore points, or an unfinished journal. */
export async function judgeRemains(stage: RestoreStage): Promise<string[]> {
  const { project, directory } = stage.instance;
  const places = (await readdir(stage.points).catch(() => [])).map((name) => name.toLowerCase());
  const scratch = await listContainers({ label: [`svc-updater.scratch=${project}`] });
  const { stdout } = await execa('docker', [
    'image',
    'ls',
    '--format',
    '{{.Tag}}',
    'svc-updater-restore-point',
  ]);
  const tags = stdout
    .split('\n')
    .filter((tag) => tag.startsWith(`${project}-`) && !places.some((place) => tag.includes(place)));
  const text = await readFile(join(directory, '.svc-updater', 'journal.json'), 'utf8').catch(() => '{}');
  const { state } = JSON.parse(text) as { state?: { at: string } };
  return [
    ...scratch.map((name) => `left behind: scratch container ${name}`),
    ...tags.map((tag) => `left behind: the tag ${tag}`),
    ...(places.length > 2 ? [`${places.length} restore points: ${places.join(', ')}`] : []),
    ...(state && state.at !== 'ended' ? [`the journal is not finished, but ${state.at}`] : []),
  ];
}

/** Files and rows are of the running version. */
export async function judgeVersion(stage: RestoreStage, version: string): Promise<string[]> {
  const found = await stage.schemas();
  return found.every((each) => each === version)
    ? []
    : [`${version} is running, and the data is of ${found.join(', ')}`];
}

/** The old version never started with data of a newer version. */
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

/** The operator's own `docker compose up -d` recreates nothing. */
export async function judgeUp(stage: RestoreStage, struck: readonly string[] = []): Promise<string[]> {
  const ids = async () =>
    (await findContainers(stage.instance.project))
      .filter(({ Name }) => !struck.some((service) => Name.includes(`-${service}-`)))
      .map(({ Name, Id, State }) => `${Name} ${Id} ${State.StartedAt}`)
      .sort();
  const before = await ids();
  await stage.instance.compose('up', '-d');
  return differs('containers after the own docker compose up -d', before, await ids());
}
