import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Change } from '../../compose/draft.ts';
import { allFiles, nameOf, type ProjectFiles, withFile } from '../../compose/project-files.ts';
import { Compose, type ComposeProject, type Model } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { HostPaths } from '../../files/host-paths.ts';
import { readTextFile, readTextFileIfThere, type TextFile } from '../../files/text-file.ts';
import type { Installation } from '../inspect/installation.ts';
import { learnFiles } from '../inspect/learn-files.ts';
import { readEnvFiles, withLinkedFiles } from '../inspect/read-files.ts';
import type { Log } from '../log/log.ts';
import { and } from '../log/wording.ts';
import { modelWith } from '../proof/proposed-model.ts';

/** Another project that reads one of the files to be written. */
interface Sharer {
  project: ComposeProject;
  /** Its files that change, with their new texts, at their paths as its labels spell them. */
  shared: readonly TextFile[];
  /** Null where one of its files is not to be seen from here. */
  files: ProjectFiles | null;
}

/**
 * Names every other project of this engine that reads a file which is about to change, such as one that was started from
 * the same folder by `-p`, and says what its next `up` will move, which its owner has not asked for.
 */
export async function warnOthers(
  engine: Engine,
  installation: Installation,
  changes: readonly Change[],
  log: Pick<Log, 'addMaskRules'>,
): Promise<string[]> {
  if (changes.length === 0) return [];
  const { paths } = installation;
  const real = (path: string) => realpath(paths.fromHost(path) ?? path).catch(() => path);
  const texts = new Map<string, string>();
  for (const { path, after } of changes) texts.set(await real(path), after);
  const written = changes.map(({ description }) => description).join('; ');
  const warnings: string[] = [];
  for (const project of installation.beside) {
    const files = await readProject(project, paths).catch(() => null);
    const own = files === null ? namedFiles(project) : allFiles(files).map(({ path }) => path);
    const shared: TextFile[] = [];
    for (const path of own) {
      const text = texts.get(await real(path));
      if (text !== undefined) shared.push({ path, text });
    }
    if (shared.length === 0) continue;
    log.addMaskRules(() => ({ shown: [project.name, project.directory] }));
    if (files !== null) await learnFiles(log, files, (path) => paths.fromHost(path));
    const warning = await warningOf({ project, shared, files }, { engine, installation, written });
    if (warning !== null) warnings.push(warning);
  }
  return warnings;
}

/** What its labels tell: without an env file there, compose takes the `.env` of the directory. */
const namedFiles = ({ directory, files, envFiles }: ComposeProject): string[] => [
  ...files,
  ...(envFiles.length > 0 ? envFiles : [join(directory, '.env')]),
];

/** @throws UpdateError where a file is not mounted here, or not sound */
async function readProject(project: ComposeProject, paths: HostPaths): Promise<ProjectFiles> {
  const { name, directory } = project;
  for (const path of namedFiles(project)) await paths.give(path);
  const own: ProjectFiles = {
    composeFiles: await Promise.all(project.files.map(readTextFile)),
    envFiles: await readEnvFiles(project.envFiles, directory),
    newEnvFile: join(directory, '.env'),
    directory,
    given: { COMPOSE_PROJECT_NAME: name, PWD: directory },
  };
  return withLinkedFiles(own, ({ path }) => readTextFileIfThere(path));
}

/** Null where nothing of that project moves. */
async function warningOf(
  { project, shared, files }: Sharer,
  { engine, installation, written }: { engine: Engine; installation: Installation; written: string },
): Promise<string | null> {
  const names = and(shared.map(({ path }) => nameOf(installation.files, path)));
  const says = `project ${project.name} (${project.directory}) reads ${names}, too: its next docker compose up`;
  const models = files === null ? null : await modelsOf(new Compose(engine, project), files, shared);
  if (models === null) return `${says} takes what is written there (${written})`;
  const [before, after] = models;
  const what = changesOf(before, after);
  return what.length > 0 ? `${says} moves ${and(what)}` : null;
}

/** Before and with the new texts; null where compose cannot tell from here. */
async function modelsOf(
  compose: Compose,
  files: ProjectFiles,
  shared: readonly TextFile[],
): Promise<readonly [Model, Model] | null> {
  const then = shared.reduce((done, file) => withFile(done, file), files);
  const paths = shared.map(({ path }) => path);
  return Promise.all([compose.config(), modelWith(compose, then, paths)]).catch(() => null);
}

/** `app and worker to svc:v1.1.0`, `db, in something else than its image` */
function changesOf(before: Model, after: Model): string[] {
  const names = Object.keys(after.services).sort();
  const moved = names.filter((name) => after.services[name]?.image !== before.services[name]?.image);
  const images = Map.groupBy(moved, (name) => after.services[name]?.image ?? 'nothing');
  const isOther = (name: string) =>
    JSON.stringify(after.services[name]) !== JSON.stringify(before.services[name]);
  const others = names.filter((name) => !moved.includes(name) && isOther(name));
  return [
    ...[...images].map(([image, services]) => `${and(services)} to ${image}`),
    ...(others.length > 0 ? [`${and(others)}, in something else than the image`] : []),
  ];
}
