import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { createDraft, type ProjectDraft } from '../../../core/compose/draft.ts';
import { parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import { displayPathOf, type ProjectFiles, projectDirectoryOf } from '../../../core/compose/project-files.ts';
import { createVariableLookup } from '../../../core/compose/variables.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { isFile } from '../../../core/files/file-system.ts';
import type { HostPaths } from '../../../core/mounts/host-paths.ts';
import { isNumberedTag } from '../../../core/release/pin-tag.ts';
import { Compose } from '../../../engine/cli/compose.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { toObject } from '../../../engine/objects/json.ts';
import { planBump } from '../../compose/bump/plan-bump.ts';
import { readBumpProject } from '../../compose/bump/read-bump-project.ts';
import { hasComposeFileHere } from '../../compose/inspect/find-project/host-directory-inspector.ts';
import { createOverlayDirectory } from '../../compose/verify-edit/create-overlay.ts';
import { hasTagChange, type ReleasePlan } from '../../plan/release-plan.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { UpdateOptions } from '../../run/options/update-options.ts';
import type { RunContext } from '../../run/run-context.ts';
import { type ChosenStack, shortServiceNameOf } from '../services/choose-stack.ts';
import { imageTagOf } from './plan-service-updates.ts';

/** Stack files from which the stack was deployed. This has been verified by comparing the images. */
export interface StackFiles {
  directory: string;
  project: ProjectFiles;
  /** Paths of the stack files, in the order of the `-c` options of `docker stack deploy`. */
  paths: readonly string[];
  /** Whether the files need the values of `.env`, which `docker stack deploy` itself does not read. */
  needsEnvFile: boolean;
  /** `docker stack config`, or compose if `docker stack config` rejects the files. */
  reader: 'stack' | 'compose';
}

/** Images as resolved by `docker stack config` or compose, keyed by service name. */
type Images = ReadonlyMap<string, string>;

/** Returns null if no mounted directory contains the stack files. @throws UpdateError stack-file, several-projects */
export async function findStackDirectory(
  paths: HostPaths,
  { dir, stack: { files } }: UpdateOptions,
): Promise<string | null> {
  if (dir !== null) return dir;
  const found: string[] = [];
  for (const here of paths.destinations) {
    const isOne =
      files.length === 0 ? await hasComposeFileHere(here) : await isFile(resolve(here, files[0] ?? ''));
    if (isOne) found.push(here);
  }
  const [only = null, ...others] = found;
  if (others.length > 0) {
    const message = `several mounted directories contain a stack file: ${joinWithAnd(found)}`;
    throw new UpdateError('several-projects', message, { advice: 'Choose one with --dir.' });
  }
  if (only === null && files.length > 0)
    throw new UpdateError('stack-file', `no mounted directory contains ${files[0]}`);
  return only;
}

/**
 * Reads the stack files, and verifies that the stack was deployed from them.
 * @param left - old and new image references of an unfinished run, because the files may still contain either of them
 * @throws UpdateError stack-file, compose-invalid
 */
export async function readStackFiles(
  { engine, options, log }: RunContext,
  directory: string,
  { chosen, plan, left }: { chosen: ChosenStack; plan: ReleasePlan; left: readonly string[] },
): Promise<StackFiles> {
  const project = await readBumpProject({ dir: directory, files: options.stack.files, envFiles: [] }, log);
  const paths = project.composeFiles.map(({ path }) => path);
  const names = paths.map((path) => displayPathOf(project, path));
  const wanted = plan.updates.map(({ service, pin, to }) => ({
    ...{ service, to, from: pin.referenceText, repository: pin.reference.repository },
    name: shortServiceNameOf(chosen.name, { name: service }),
  }));
  const known = new Set([...wanted.flatMap(({ from, to }) => [from, to]), ...left].map(versionOf));
  const fits = (images: Images) =>
    wanted.every(({ name, from }) => images.get(name) === from) ||
    // The files already contain the new images, but have not been deployed yet.
    wanted.every(({ name, to }) => images.get(name)?.replace(/@.*$/, '') === to) ||
    (left.length > 0 &&
      wanted.every(({ name, repository }) => {
        const image = images.get(name) ?? '';
        return parseImageReference(image)?.repository === repository && known.has(versionOf(image));
      }));
  const alone = withoutEnv(project);
  const errors: unknown[] = [];
  let readable: Images | null = null;
  for (const withEnv of project.envFiles.length > 0 ? [false, true] : [false]) {
    const read = withEnv ? project : alone;
    for (const reader of ['stack', 'compose'] as const) {
      try {
        const images = await readers[reader](engine, read, paths);
        if (fits(images)) return { directory, project: read, paths, needsEnvFile: withEnv, reader };
        readable ??= images;
        break;
      } catch (error) {
        if (!(error instanceof UpdateError)) throw error;
        errors.push(error);
      }
    }
  }
  if (readable === null) throw errors[0];
  const images = readable;
  const unlike = wanted.find(({ name, from }) => images.get(name) !== from);
  const says = unlike && images.get(unlike.name);
  const message = `stack ${chosen.name} was not deployed from ${joinWithAnd(names)}: ${unlike?.service} uses ${unlike?.from}, but the files specify ${says ? says : 'no image for it'}`;
  const advice =
    'Mount the right directory and pass its files with --file in the same order as to docker stack deploy -c. If shell variables were used, write their values in the stack file or in .env. To update only the running stack, mount no directory.';
  throw new UpdateError('stack-file', message, { advice });
}

function versionOf(image: string): string {
  const tag = imageTagOf(image);
  return isNumberedTag(tag) ? tag.version : tag.text;
}

/** `docker stack deploy` ignores `.env`. The empty env file prevents compose from searching for `.env`. */
const withoutEnv = (project: ProjectFiles): ProjectFiles => ({
  ...project,
  envFiles: [{ path: project.newEnvFile, text: '' }],
});

/**
 * Drafts the edited stack files. Requires that they resolve to new images for updated services, and to unchanged images
 * for all others.
 * @throws UpdateError proof-failed, pin-…
 */
export async function draftStackFiles(
  { engine, log }: RunContext,
  files: StackFiles,
  { chosen, plan, digests }: { chosen: ChosenStack; plan: ReleasePlan; digests: ReadonlyMap<string, string> },
): Promise<ProjectDraft> {
  const { project } = files;
  const before = await imagesOf(engine, files, project);
  const wanted = new Map(
    plan.updates.map(({ service, pin, to }) => {
      const digest = pin.reference.digest === null ? '' : `@${digests.get(to)}`;
      return [shortServiceNameOf(chosen.name, { name: service }), `${to}${digest}`] as const;
    }),
  );
  if (plan.target === null || [...wanted].every(([name, to]) => before.get(name) === to))
    return createDraft(project);
  const [pinned] = [...wanted.values()].filter((to) => to.includes('@'));
  const digest = pinned?.replace(/^.*@/, '') ?? null;
  const request = { to: plan.target, services: [...wanted.keys()], digest };
  const { draft } = await planBump(project, engine, request, log);
  const after = await imagesOf(engine, files, draft.files);
  const wrong = [...after].filter(([name, image]) => (wanted.get(name) ?? before.get(name)) !== image);
  if (wrong.length === 0 && after.size === before.size) return draft;
  const message = 'docker stack config does not produce the planned images from the edited files';
  const detail = wrong.map(([name, image]) => `${name}: ${image}`);
  const advice = 'Change the version in the stack file manually and deploy the stack.';
  throw new UpdateError('proof-failed', message, { detail, advice });
}

async function imagesOf(engine: Engine, { reader, paths }: StackFiles, files: ProjectFiles): Promise<Images> {
  const stage = await mkdtemp(join(tmpdir(), 'svc-updater-stack-'));
  try {
    const root = await createOverlayDirectory(stage, projectDirectoryOf(files), files);
    const shadowed = paths.map((path) => `${root}${path}`);
    return await readers[reader](engine, files, shadowed);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** Uses `docker stack config`, which needs no engine. @throws UpdateError compose-invalid */
async function stackImages(engine: Engine, files: ProjectFiles, paths: readonly string[]): Promise<Images> {
  const flags = paths.flatMap((path) => ['--compose-file', path]);
  const result = await engine.call(['stack', 'config', ...flags], { env: valuesOf(files) });
  if (result.exitCode !== 0) {
    const lines = result.stderr.trim().split('\n');
    const advice = 'Correct the file so that docker stack config accepts it, then run {command} again.';
    const detail = lines.slice(0, -1);
    const message = `docker stack config rejects the file: ${lines.at(-1)}`;
    throw new UpdateError('compose-invalid', message, { detail, advice });
  }
  const services = toObject(toObject(parse(result.stdout)).services);
  return new Map(Object.entries(services).map(([name, each]) => [name, String(toObject(each).image ?? '')]));
}

async function composeImages(engine: Engine, files: ProjectFiles, paths: readonly string[]): Promise<Images> {
  const [first = ''] = paths;
  const shadow = first.slice(0, first.length - (files.composeFiles[0]?.path.length ?? 0));
  const envFiles = files.envFiles.filter(({ text }) => text !== '').map(({ path }) => `${shadow}${path}`);
  const compose = new Compose(engine, {
    name: '',
    directory: `${shadow}${projectDirectoryOf(files)}`,
    files: paths,
    envFiles: envFiles.length > 0 ? envFiles : ['/dev/null'],
  });
  const { services } = await compose.config();
  return new Map(Object.entries(services).map(([name, { image = '' }]) => [name, image]));
}

const readers = { stack: stackImages, compose: composeImages };

/**
 * Returns only the variables that the compose files use. The docker command gets them in its environment, where others
 * could change its behavior.
 */
function valuesOf({ composeFiles, envFiles }: ProjectFiles): Record<string, string> {
  const lookup = createVariableLookup(envFiles);
  const names = composeFiles.flatMap(({ text }) =>
    [...text.matchAll(/(?<!\$)(?:\$\$)*\$\{?(\w+)/g)].map(([, name = '']) => name),
  );
  return Object.fromEntries(
    [...new Set(names)].flatMap((name) => {
      const value = lookup(name);
      return value === null ? [] : [[name, value.text] as const];
    }),
  );
}

/** Returns the command with which a user deploys the stack. The command loads `.env` if the files need its values. */
export function formatDeployCommand(
  stack: string,
  { project, paths, needsEnvFile: withEnv, reader }: StackFiles,
): string {
  const files = paths.map((path) => `-c ${displayPathOf(project, path)}`).join(' ');
  if (reader === 'compose') return `docker compose config | docker stack deploy -c - ${stack}`;
  return `${withEnv ? 'set -a; . ./.env; set +a; ' : ''}docker stack deploy ${files} ${stack}`;
}

/** Lists the images that the owner must change in the stack file or its variables if no directory is mounted. */
export const formatImagesToChange = ({ updates }: ReleasePlan): string =>
  joinWithAnd([
    ...new Set(updates.filter(hasTagChange).map(({ pin, to }) => `${pin.referenceText} → ${to}`)),
  ]);
