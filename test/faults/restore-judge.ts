import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { differs } from '../judge/differs.ts';
import { type ContainerInspection, findContainers, listContainers } from '../rig/engine-api.ts';
import { fileStates } from '../rig/snapshot.ts';
import { databases } from './databases.ts';
import type { RestoreStage } from './restore-stage.ts';
import { versions } from './restore-stage.ts';

// Whether an instance is wholly of one time; uses nothing of the updater.

export interface Whole {
  /** Dumps and lists, by name. */
  data: Record<string, string>;
  files: object;
  /** App, worker and database, which may have been replaced by equal containers. */
  moved: Record<string, object>;
  /** The same containers, never stopped. */
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

/** Names, kinds, modes, owners, sizes, times, links, attributes, contents. */
async function walk(directory: string): Promise<string> {
  const script = `export LC_ALL=C; cd "$1"; find . -printf '%p|%y|%m|%U:%G|%T@|%l\\n' | sort
    find . -type f -printf '%p|%n|%s\\n' | sort; find . ! -type s -print0 | sort -z | xargs -0 getfattr -h -d -m - -e hex 2>/dev/null
    find . -type f -print0 | sort -z | xargs -0 -r sha256sum`;
  return (await execa('bash', ['-euc', script, 'walk', directory], { maxBuffer: 1e9 })).stdout;
}

/**
 * Everything is as it was then. @param struck services that were killed or replaced on purpose
 * @param isWriting app and worker went on writing, so that their own rows and files differ: see `judgeLive`
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

/** The name of a start that writes: see restore-app.sh. */
const ofLive = new RegExp(`\\b(?:app|worker)-${versions.old}-[0-9a-f-]{36}`);

/** The lines that only one of them has, a few. */
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
 * Whether the data is of one moment. Each start of app and worker writes 1, 2, 3 … into a table, then into a file, then to the
 * witness. So all rows and lines are there without a gap, none that the witness knows is missing, and at most one more was
 * being written. A bad version has left nothing.
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

/** What a kill may leave behind: containers, image tags, restore points, a journal that is not finished. */
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

/** Files and rows are of the version that is running. */
export async function judgeVersion(stage: RestoreStage, version: string): Promise<string[]> {
  const found = await stage.schemas();
  return found.every((each) => each === version)
    ? []
    : [`${version} is running, and the data is of ${found.join(', ')}`];
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

/** The operator's own `up` replaces nothing. */
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
