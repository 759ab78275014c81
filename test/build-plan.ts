// Builders for the input of plans: the files of a project, compose's model of them, and the planned update.
import { join } from 'node:path';
import { getParsedComposeFile } from '../src/core/compose/compose-file.ts';
import { requirePin } from '../src/core/compose/pins/find-pin.ts';
import type { ProjectFiles } from '../src/core/compose/project-files.ts';
import type { ProgressEvent } from '../src/core/progress/event.ts';
import { parseTarget, type Target } from '../src/core/release/target.ts';
import type { ComposeModel, ComposeService } from '../src/engine/cli/compose.ts';
import type { Engine, RemoteDigest } from '../src/engine/cli/engine.ts';
import type { Container, Image } from '../src/engine/objects/container.ts';
import { versionLabel } from '../src/engine/objects/labels.ts';
import { Notifier } from '../src/notify/notifier.ts';
import type { Installation } from '../src/updater/compose/inspect/installation.ts';
import { planUpdate } from '../src/updater/compose/plan/plan-update.ts';
import type { PreparedPlan, ProjectUpdatePlan } from '../src/updater/compose/plan/prepared-plan.ts';
import type { TagLookup } from '../src/updater/plan/tag-lookup.ts';
import { Cancellation } from '../src/updater/run/cancellation.ts';
import { Log, type LogFields } from '../src/updater/run/log/run-log.ts';
import { parseCommandLine } from '../src/updater/run/options/command-line.ts';
import {
  type BumpOptions,
  bumpOptionsOf,
  type UpdateOptions,
  updateOptionsOf,
} from '../src/updater/run/options/update-options.ts';
import type { RunContext } from '../src/updater/run/run-context.ts';
import { container, image, installation, project } from './build.ts';
import { engineThat } from './engine/http-engine.ts';

/** Path of a file in the compose directory. */
export const at = (name: string): string => join(project.directory, name);

/** Project files from contents by name, in order; a name that ends in `env` is an env file. */
export function projectFiles(
  texts: Readonly<Record<string, string>>,
  parts: Partial<ProjectFiles> = {},
): ProjectFiles {
  const files = Object.entries(texts).map(([name, text]) => ({ path: at(name), text }));
  return {
    composeFiles: files.filter(({ path }) => !path.endsWith('env')),
    envFiles: files.filter(({ path }) => path.endsWith('env')),
    newEnvFile: at('.env'),
    directory: project.directory,
    ...parts,
  };
}

/** A compose file with these images by service. */
export const composeText = (images: Readonly<Record<string, string>>): string =>
  `services:\n${Object.entries(images)
    .map(([name, reference]) => `  ${name}:\n    image: ${reference}\n`)
    .join('')}`;

export const generated = (images: Readonly<Record<string, string>>): string =>
  `# svc:generated\n${composeText(images)}`;

/** Compose's model of files that contain only images; `more` adds fields to services. */
export function modelOf(
  files: ProjectFiles,
  more: Readonly<Record<string, Partial<ComposeService>>> = {},
): ComposeModel {
  const names = [...new Set(files.composeFiles.flatMap((file) => getParsedComposeFile(file).serviceNames))];
  const service = (name: string) => ({ image: requirePin(files, name).referenceText, ...more[name] });
  return { name: project.name, services: Object.fromEntries(names.map((name) => [name, service(name)])) };
}

type InstallParts = NonNullable<Parameters<typeof installation>[2]>;

/** An installation with these files; it updates `app`, and `worker` if the files contain it. */
export function installed(
  texts: Readonly<Record<string, string>> | ProjectFiles,
  parts: InstallParts = {},
): Installation {
  const files = isProject(texts) ? texts : projectFiles(texts);
  const model = parts.model ?? modelOf(files);
  const services: Record<string, readonly Container[]> = { app: [container('app-1')] };
  if ('worker' in model.services) services.worker = [container('worker-1')];
  return installation(files, model, { services, ...parts });
}

const isProject = (texts: Readonly<Record<string, string>> | ProjectFiles): texts is ProjectFiles =>
  Array.isArray(texts.composeFiles);

/** Parses a target such as `v1.1.0` or `canary`; null for no target. */
export function target(text: string | null): Target | null {
  if (text === null) return null;
  const parsed = parseTarget(text);
  if (parsed === null) throw new Error(`${text} is no target`);
  return parsed;
}

export const planTo = (to: string | null, from: Installation): ProjectUpdatePlan => planOf(from, target(to));

export const planOf = (from: Installation, asked: Target | null): ProjectUpdatePlan => ({
  ...planUpdate(from, { target: asked }),
  expected: null,
  recalls: null,
  given: null,
  unconfirmed: [],
  point: null,
});

/** An image with a version label if `version` is given. */
export const imageOf = (id: string, version?: string, changes: Partial<Image> = {}): Image =>
  image(id, { labels: version === undefined ? {} : { [versionLabel]: version }, ...changes });

/** The plan of an update that changes no file. */
export const preparedPlan = (plan: ProjectUpdatePlan, changes: Partial<PreparedPlan> = {}): PreparedPlan => ({
  ...plan,
  images: new Map(),
  changes: [],
  settings: [],
  model: { name: project.name, services: {} },
  references: new Map(),
  migrations: [],
  version: null,
  laterWarnings: [],
  alsoMoved: [],
  newServices: [],
  added: [],
  dumpFirst: [],
  changedServices: [],
  ...changes,
});

/** Options of the command `update`. */
export function updateOptions(...argv: string[]): UpdateOptions {
  return updateOptionsOf(parseCommandLine(argv, {}));
}

/** Options of the command `bump`; default: `--service app --to v1.1.0`. */
export function bumpOptions(...argv: string[]): BumpOptions {
  const to = argv.includes('--to') ? [] : ['--to', 'v1.1.0'];
  const service = argv.includes('--service') ? [] : ['--service', 'app'];
  return bumpOptionsOf(parseCommandLine(['bump', ...argv, ...to, ...service], {}));
}

/** A log that only stores its entries; `lines` are `level: message`. */
export function rememberingLog(): {
  log: Log;
  lines: string[];
  fields: LogFields[];
  events: ProgressEvent[];
} {
  const [lines, fields, events]: [string[], LogFields[], ProgressEvent[]] = [[], [], []];
  const log = new Log((event, more) => {
    lines.push(`${event.level}: ${event.message}`);
    fields.push(more);
    events.push(event);
  });
  return { log, lines, fields, events };
}

/** The context of a run, and the lines of its log. */
export function runContext(
  engine: Engine,
  options: UpdateOptions = updateOptions(),
): { context: RunContext; lines: string[] } {
  const { log, lines } = rememberingLog();
  const cancellation = new Cancellation(log);
  return {
    context: {
      engine,
      options,
      log,
      cancellation,
      notifier: new Notifier('svc', () => {}),
      startedAt: 0,
      beganAt: 0,
    },
    lines,
  };
}

export { engineThat };

/** An engine with JSON responses by path with query; all other paths return 404. */
export const engineWith = (answers: Readonly<Record<string, unknown>>): Promise<Engine> =>
  engineThat((from, to) => {
    const path = decodeURIComponent(from.url ?? '');
    if (path in answers) to.end(JSON.stringify(answers[path]));
    else to.writeHead(404).end('{"message":"no such thing"}');
  });

/** The result of a check with a registry that has these tags, and the requested tags. */
export async function checkedBeside<T>(
  digestOf: (tag: string) => RemoteDigest,
  check: (lookUp: TagLookup) => Promise<T>,
): Promise<{ result: T; asked: string[] }> {
  const asked = new Set<string>();
  const result = await check(async (repository, tag) => {
    asked.add(`${repository}:${tag}`);
    return digestOf(tag);
  });
  return { result, asked: [...asked] };
}
