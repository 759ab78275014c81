import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Outcome, outcomeOf } from '../../src/progress/outcome.ts';
import { difference } from '../rig/difference.ts';
import { askEngine } from '../rig/engine-api.ts';
import type { Instance } from '../rig/instance.ts';
import { type ContainerState, containerStates, type FileState, fileStates } from '../rig/snapshot.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { Lost } from './fault.ts';
import type { Release } from './install.ts';
import type { Before, Subject } from './subject.ts';

/** What the fault itself changes, so that nobody is blamed for it. */
export interface Allowance {
  /**
   * The engine was restarted: the other containers are the same ones, started again, and so is an old worker that the
   * update had stopped already, for the engine knows nothing of the update.
   */
  restarted?: boolean;
  /** Somebody's own edit, which stands: by path, in place of what the update makes of the file. */
  edited?: Record<string, (text: string) => string>;
}

export type Files = Record<string, FileState>;

const moved = (service: string) => service === 'app' || service === 'worker';

/** The files that a good update to that release leaves. */
export function filesAt({ snapshot, release }: Before, to: Release, { edited = {} }: Allowance = {}): Files {
  return Object.fromEntries(
    Object.entries(snapshot.files).map(([path, state]) => {
      const text =
        state.kind === 'file' && path !== 'svc.yaml' && release.tag !== to.tag
          ? state.text.replaceAll(release.version, to.version)
          : state.text;
      return [path, { ...state, text: edited[path]?.(text) ?? text }];
    }),
  );
}

/** Everything at the new release, nothing else changed, nothing left over. @throws Lost */
export async function judgeUpdated(
  subject: Subject,
  before: Before,
  to: Release,
  allowance: Allowance = {},
): Promise<void> {
  const { instance } = subject;
  const after = await subject.look();
  const { snapshot } = after;
  const newImage = after.tags[`${instance.image}:${to.tag}`];
  const facts = [
    ...commonFacts(before, after, allowance),
    ...(await leftovers(instance, snapshot.strays)),
    ...differs('files', filesAt(before, to, allowance), snapshot.files),
    ...(snapshot.version === to.version ? [] : [`app answers ${snapshot.version}, not ${to.version}`]),
    ...(snapshot.workerVersion === to.version
      ? []
      : [`worker writes ${snapshot.workerVersion}, not ${to.version}`]),
  ];
  for (const [name, state] of Object.entries(snapshot.containers).filter(([, { service }]) =>
    moved(service),
  )) {
    if (state.image !== newImage) facts.push(`${name} runs ${state.image}, and ${to.tag} is ${newImage}`);
    if (state.status !== 'running' || state.health !== 'healthy') {
      facts.push(`${name} is ${state.status}, ${state.health}`);
    }
  }
  // A tag that an update moves names the new image; every other one names what it did.
  const { [`${instance.image}:${to.tag}`]: _, ...tags } = before.tags;
  facts.push(...differs('tags', tags, pick(after.tags, Object.keys(tags))));
  facts.push(...(await backward(instance, before, allowance)));
  conclude(facts);
  subject.release = to;
}

/** Every byte and every tag as before; app and worker well on the old image. @throws Lost */
export async function judgeAsBefore(
  subject: Subject,
  before: Before,
  /** The very same containers, never stopped. */
  containers: 'same' | 'brought back' = 'same',
  allowance: Allowance = {},
): Promise<void> {
  const { instance } = subject;
  const after = await subject.look();
  const { snapshot } = after;
  const facts = [
    ...commonFacts(before, after, allowance),
    ...(await leftovers(instance, snapshot.strays)),
    ...differs('files', filesAt(before, before.release, allowance), snapshot.files),
    ...differs('tags', before.tags, pick(after.tags, Object.keys(before.tags))),
    ...differs(
      'version',
      [before.snapshot.version, before.snapshot.workerVersion],
      [snapshot.version, snapshot.workerVersion],
    ),
  ];
  const movedOf = (states: Record<string, ContainerState>) =>
    Object.fromEntries(
      Object.entries(states)
        .filter(([, { service }]) => moved(service))
        .map(([name, state]) => {
          const { image, status, health, restarts, service } = state;
          return [name, containers === 'same' ? state : { image, status, health, restarts, service }];
        }),
    );
  facts.push(...differs('app and worker', movedOf(before.snapshot.containers), movedOf(snapshot.containers)));
  const newer = await newerBoots(instance, before);
  if (newer.length > 0) facts.push(`the new version has run: ${newer.join(', ')}`);
  conclude(facts);
}

/** The run says that a person must look, and what to type; nobody else was touched. @throws Lost */
export async function judgeBroken(
  subject: Subject,
  before: Before,
  to: Release,
  result: UpdateResult,
  allowance: Allowance = {},
): Promise<void> {
  const last = result.lines.at(-1)?.message ?? '';
  const after = await subject.look();
  const facts = [
    ...commonFacts(before, after, allowance),
    ...(await leftovers(subject.instance, after.snapshot.strays)),
    ...(result.exitCode === 5 ? [] : [`exit code ${result.exitCode}, not 5`]),
    ...(last.startsWith('broken: ') ? [] : [`the last line says "${last}", not broken`]),
    ...(/docker compose .*\bup -d\b/.test(last)
      ? []
      : [`the last line does not say what to type: "${last}"`]),
    ...oldOrNew(before, to, after.snapshot.files, allowance, true),
    ...(await backward(subject.instance, before, allowance)),
  ];
  conclude(facts);
}

/** After a run that ended by itself: as its last line says. @throws Lost */
export async function judgeEnding(
  subject: Subject,
  before: Before,
  to: Release,
  result: UpdateResult,
  allowance: Allowance = {},
): Promise<Outcome> {
  const outcome = endingOf(result);
  if (outcome === null) throw new Lost([`the run ended with exit code ${result.exitCode} and no outcome`]);
  const codes: Partial<Record<Outcome, number[]>> = {
    updated: [0],
    unchanged: [0],
    refused: [3],
    failed: [4],
    broken: [5],
    cancelled: [130, 143],
  };
  if (!codes[outcome]?.includes(result.exitCode)) {
    throw new Lost([`the run ended ${outcome} with exit code ${result.exitCode}`]);
  }
  if (outcome === 'broken') await judgeBroken(subject, before, to, result, allowance);
  else if (outcome === 'updated' || outcome === 'unchanged') {
    await judgeUpdated(subject, before, to, allowance);
  } else {
    const said = result.lines.some(({ phase }) => phase === 'recreate');
    const again = allowance.restarted || (outcome === 'failed' && said);
    await judgeAsBefore(subject, before, again ? 'brought back' : 'same', allowance);
  }
  return outcome;
}

/** While a killed run waits for the next one: each file whole, nobody else touched, no volume gone. @throws Lost */
export async function judgeDead(
  { instance }: Subject,
  before: Before,
  to: Release,
  allowance: Allowance = {},
): Promise<void> {
  const [files, { containers }, gone] = await Promise.all([
    fileStates(instance.directory),
    containerStates(instance.project, instance.name),
    goneVolumes(before),
  ]);
  conclude([
    ...oldOrNew(before, to, files, allowance, false),
    ...differs('other containers', others(before.snapshot.containers), others(containers)),
    ...gone,
  ]);
}

/** The same where no engine answers: each file whole. @throws Lost */
export async function judgeDeadFiles(
  { instance }: Subject,
  before: Before,
  to: Release,
  allowance: Allowance = {},
): Promise<void> {
  conclude(oldOrNew(before, to, await fileStates(instance.directory), allowance, false));
}

/** The next run of the same target, as after every fault: it reaches the target and everything is whole. @throws Lost */
export async function nextRun(
  subject: Subject,
  before: Before,
  to: Release,
  allowance: Allowance = {},
  ...more: string[]
): Promise<UpdateResult> {
  const result = await subject.update(to, {}, ...more);
  const outcome = endingOf(result);
  if (result.exitCode !== 0 || (outcome !== 'updated' && outcome !== 'unchanged')) {
    throw new Lost([
      `the next run ended with exit code ${result.exitCode}, ${outcome ?? 'without an outcome'}`,
    ]);
  }
  await judgeUpdated(subject, before, to, allowance);
  return result;
}

/**
 * The operator's own `docker compose up -d` starts nothing of another version and touches nobody else. It may recreate
 * app and worker: compose up to 2.29.2 takes the hash of another version for a change.
 */
export async function judgeOperatorsUp(subject: Subject): Promise<void> {
  const before = await subject.look();
  await subject.instance.compose('up', '-d');
  await subject.instance.waitUntilHealthy();
  await judgeAsBefore(subject, before, 'brought back').catch((error) => {
    if (!(error instanceof Lost)) throw error;
    throw new Lost(error.facts.map((fact) => `after the operator's own docker compose up -d: ${fact}`));
  });
}

/** The same without doing it: what its files name, as the engine has it, is what runs. 0.1 s instead of 2. */
export async function judgePins({ instance, release }: Subject): Promise<void> {
  const named = (await instance.compose('config', '--images'))
    .split('\n')
    .filter((reference) => reference.startsWith(`${instance.image}:`));
  const wrong = named.filter((reference) => reference !== `${instance.image}:${release.tag}`);
  conclude(wrong.map((reference) => `the files name ${reference}, and ${release.version} runs`));
}

export function endingOf({ lines }: Pick<UpdateResult, 'lines'>): Outcome | null {
  const last = lines.at(-1);
  return last ? outcomeOf(last) : null;
}

/** Image ids by reference of all of a repository's images that have a tag. */
export async function localTags(repository: string): Promise<Record<string, string>> {
  const { status, body } = await askEngine('GET', '/images/json');
  if (status !== 200) throw new Error(`GET /images/json: ${status} ${body}`);
  const images = JSON.parse(body) as { Id: string; RepoTags: string[] | null }[];
  return Object.fromEntries(
    images
      .flatMap(({ Id, RepoTags }) => (RepoTags ?? []).map((tag) => [tag, Id] as const))
      .filter(([tag]) => tag.startsWith(`${repository}:`))
      .sort(([a], [b]) => a.localeCompare(b)),
  );
}

/** The starts of app and worker since then, such as `app v1.1.0`. */
async function bootsSince(instance: Instance, { boots }: Before): Promise<string[]> {
  return (await instance.boots()).slice(boots);
}

async function newerBoots(instance: Instance, before: Before): Promise<string[]> {
  return (await bootsSince(instance, before)).filter((boot) => !boot.endsWith(` ${before.release.version}`));
}

/** Once something of the new version has started, nothing of the old one may start any more. */
async function backward(
  instance: Instance,
  before: Before,
  { restarted = false }: Allowance,
): Promise<string[]> {
  const all = await bootsSince(instance, before);
  const isOld = (boot: string) => boot.endsWith(` ${before.release.version}`);
  const boots = restarted ? all.filter((boot) => !(isOld(boot) && boot.startsWith('worker '))) : all;
  const first = boots.findIndex((boot) => !isOld(boot));
  return first >= 0 && boots.slice(first).some(isOld)
    ? [`the old version was started after the new one: ${boots.join(', ')}`]
    : [];
}

function commonFacts(before: Before, after: Before, { restarted }: Allowance): string[] {
  const well = (states: Record<string, ContainerState>) =>
    Object.fromEntries(
      Object.entries(others(states)).map(([name, state]) => [
        name,
        restarted ? { id: state.id, image: state.image, status: state.status } : state,
      ]),
    );
  return [
    ...differs(
      'the names of the containers',
      Object.keys(before.snapshot.containers).sort(),
      Object.keys(after.snapshot.containers).sort(),
    ),
    ...differs('other containers', well(before.snapshot.containers), well(after.snapshot.containers)),
    ...differs('data', before.snapshot.kept.onDisk, after.snapshot.kept.onDisk),
    ...differs('anonymous volumes', before.volumes, after.volumes),
  ];
}

const allowedInState = ['.gitignore', 'backup', 'journal.json', 'last-run.log'];

async function leftovers({ directory, project }: Instance, strays: readonly string[]): Promise<string[]> {
  const kept = await readdir(join(directory, '.svc-updater')).catch(() => [] as string[]);
  const backups = await readdir(join(directory, '.svc-updater', 'backup')).catch(() => [] as string[]);
  const filter = encodeURIComponent(JSON.stringify({ label: [`svc-updater.scratch=${project}`] }));
  const scratch = await askEngine('GET', `/containers/json?all=1&filters=${filter}`);
  const found = JSON.parse(scratch.body) as { Names: string[] }[];
  return [
    ...strays.map((stray) => `left over: container ${stray}`),
    ...found.map(({ Names }) => `left over: scratch container ${Names.join(' ')}`),
    ...kept.filter((name) => !allowedInState.includes(name)).map((name) => `left over: .svc-updater/${name}`),
    ...(backups.length > 5 ? [`${backups.length} backups are kept, not 5`] : []),
  ];
}

/** Every file is what it was or what the update makes of it; `together`: all of them the one or the other. */
function oldOrNew(
  before: Before,
  to: Release,
  files: Files,
  allowance: Allowance,
  together: boolean,
): string[] {
  const old = filesAt(before, before.release, allowance);
  const next = filesAt(before, to, allowance);
  // A killed run may have left its temporary file; the next one takes it away.
  const known = together ? files : pick(files, Object.keys(old));
  if (together) {
    if (difference(old, known) === undefined || difference(next, known) === undefined) return [];
    return [
      ...differs('files, held against the old ones', old, known),
      ...differs('and the new ones', next, known),
    ];
  }
  return Object.keys(old)
    .filter((path) => difference(old[path], known[path]) && difference(next[path], known[path]))
    .map((path) => `${path} is neither the old nor the new one: ${JSON.stringify(known[path])}`);
}

async function goneVolumes({ volumes }: Before): Promise<string[]> {
  const answers = await Promise.all(
    Object.entries(volumes).map(
      async ([name, volume]) => [name, (await askEngine('GET', `/volumes/${volume}`)).status] as const,
    ),
  );
  return answers
    .filter(([, status]) => status !== 200)
    .map(([name]) => `the anonymous volume of ${name} is gone`);
}

const others = (states: Record<string, ContainerState>) =>
  Object.fromEntries(Object.entries(states).filter(([, { service }]) => !moved(service)));

const pick = <T>(values: Record<string, T>, keys: readonly string[]) =>
  Object.fromEntries(Object.entries(values).filter(([key]) => keys.includes(key)));

function differs(what: string, expected: unknown, actual: unknown): string[] {
  const found = difference(expected, actual);
  if (found === undefined) return [];
  const text = (value: unknown) => JSON.stringify(value, (_, each) => each ?? null);
  return [`${what}: expected ${text(found.expected)}, found ${text(found.actual)}`];
}

function conclude(facts: readonly string[]): void {
  if (facts.length > 0) throw new Lost(facts);
}
