import { mkdtemp, rm, stat } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { unifiedDiff } from '../compose/diff.ts';
import { applyEdits } from '../compose/edit.ts';
import { findPin, pinEdits } from '../compose/pins.ts';
import { replaceFiles } from '../compose/replace-files.ts';
import type { ProjectFiles, TextFile } from '../compose/text-file.ts';
import { Compose } from '../engine/compose.ts';
import { Engine } from '../engine/engine.ts';
import { UpdateError } from '../progress/update-error.ts';
import { compareVersions } from '../release/order.ts';
import { retag } from '../release/tag.ts';
import { describeEdit } from './draft.ts';
import type { Log } from './log.ts';
import { createMask } from './mask.ts';
import type { BumpOptions } from './options.ts';
import { modelWith, prove } from './proof.ts';
import { readTextFile, readTextFileIfThere } from './read-files.ts';
import { secretsOfFiles } from './secrets.ts';

/** In compose's own order of preference. */
const defaultNames = ['compose.yaml', 'compose.yml', 'docker-compose.yml', 'docker-compose.yaml'];

/** Edits version pins in files and proves the edit by compose's own model; needs no engine. */
export async function bump(options: BumpOptions, log: Log): Promise<'updated' | 'unchanged'> {
  log.phase = 'plan';
  const directory = resolve(options.dir);
  const composeFiles = await Promise.all((await composePaths(directory, options.files)).map(readTextFile));
  const envPaths = options.envFiles.map((file) => resolve(file));
  const envFiles =
    envPaths.length > 0
      ? await Promise.all(envPaths.map(readTextFile))
      : [await readTextFileIfThere(join(directory, '.env'))].filter(
          (file): file is TextFile => file !== null,
        );
  const files: ProjectFiles = {
    composeFiles,
    envFiles,
    newEnvFile: envPaths.at(-1) ?? join(directory, '.env'),
  };
  const hide = (images: readonly string[]) =>
    log.hide(
      createMask({
        secrets: secretsOfFiles(envFiles),
        keep: [directory, ...composeFiles.flatMap(({ path }) => [path, basename(path)]), ...images],
      }),
    );
  hide([]);
  const pins = options.services.map((service) => findPin(files, service));
  hide(pins.flatMap(({ referenceText, reference }) => [referenceText, reference.repository]));

  const moves = pins.flatMap((pin) => {
    if (pin.tag.kind !== 'release') {
      log.info(`${pin.service} floats at ${pin.tag.text} (${pin.place.description}): nothing to bump`);
      return [];
    }
    if (pin.reference.digest !== null && options.digest === null) {
      throw new UpdateError(
        'pin-digest',
        `${pin.place.description} pins a digest beside the tag, and the new one is not known here`,
        {
          advice: 'Give the digest of the new release with --digest sha256:….',
        },
      );
    }
    if (options.target.kind === 'release' && compareVersions(options.target.version, pin.tag.version) < 0) {
      log.warn(`${options.target.tag} is older than ${pin.tag.text}: migrations only run forward`);
    }
    const digest = pin.reference.digest === null || options.digest === null ? {} : { digest: options.digest };
    return [{ pin, tag: retag(pin.tag, options.target), ...digest }];
  });
  const edits = pinEdits(files, moves).filter(({ before, after }) => before !== after);
  if (edits.length === 0) {
    log.phase = 'done';
    log.info('unchanged: nothing to do', { outcome: 'unchanged' });
    return 'unchanged';
  }
  const edited = (file: TextFile): TextFile => ({
    path: file.path,
    text: applyEdits(
      file.text,
      edits.filter((edit) => edit.file === file.path),
    ),
  });
  const after: ProjectFiles = {
    ...files,
    composeFiles: composeFiles.map(edited),
    envFiles: withNew(envFiles, files.newEnvFile, edits).map(edited),
  };
  await proveBump(directory, files, after, options, edits, log);

  const replacements = [...after.composeFiles, ...after.envFiles].flatMap((file) => {
    const before = [...composeFiles, ...envFiles].find(({ path }) => path === file.path)?.text ?? null;
    return before === file.text ? [] : [{ path: file.path, before, after: file.text }];
  });
  for (const { path, before, after: text } of options.dryRun ? replacements : []) {
    for (const line of unifiedDiff(relative(directory, path), before, text)) log.info(line);
  }
  if (!options.dryRun) {
    log.phase = 'write';
    await replaceFiles(replacements, null);
    for (const edit of edits) log.info(describeEdit(edit));
  }
  log.phase = 'done';
  log.info(
    options.dryRun
      ? 'planned: nothing was changed'
      : `updated to ${options.target.tag}: docker compose pull && docker compose up -d brings it to life`,
    {
      outcome: options.dryRun ? 'unchanged' : 'updated',
    },
  );
  return options.dryRun ? 'unchanged' : 'updated';
}

async function composePaths(directory: string, given: readonly string[]): Promise<string[]> {
  if (given.length > 0) return given.map((file) => resolve(file));
  const isThere = (name: string) =>
    stat(join(directory, name)).then(
      (found) => found.isFile(),
      () => false,
    );
  for (const name of defaultNames) {
    if (!(await isThere(name))) continue;
    const override = name.replace(/\.(ya?ml)$/, '.override.$1');
    return [name, ...((await isThere(override)) ? [override] : [])].map((found) => join(directory, found));
  }
  throw new UpdateError('compose-invalid', `no compose file in ${directory}`, {
    advice: 'Name it with --file, or its directory with --dir.',
  });
}

const withNew = (
  envFiles: readonly TextFile[],
  path: string,
  edits: readonly { file: string }[],
): TextFile[] =>
  edits.some(({ file }) => file === path) && !envFiles.some((file) => file.path === path)
    ? [...envFiles, { path, text: '' }]
    : [...envFiles];

async function proveBump(
  directory: string,
  before: ProjectFiles,
  after: ProjectFiles,
  options: BumpOptions,
  edits: ReturnType<typeof pinEdits>,
  log: Log,
): Promise<void> {
  const config = await mkdtemp(join(tmpdir(), 'svc-updater-'));
  try {
    const engine = new Engine(
      { host: 'unix:///nonexistent', tls: [], configDirectory: config },
      { home: homedir() },
    );
    const compose = new Compose(engine, {
      name: 'bump',
      directory,
      files: before.composeFiles.map(({ path }) => path),
      envFiles: before.envFiles.map(({ path }) => path),
    });
    const [old, fresh] = await Promise.all([
      modelWith(compose, before.composeFiles, before.envFiles),
      modelWith(compose, after.composeFiles, after.envFiles),
    ]);
    const proof = prove(old, fresh, {
      images: new Map(
        options.services.map((service) => [service, findPin(after, service).referenceText] as const),
      ),
      substitutions: edits.flatMap(({ before: from, after: to, variable }) =>
        variable ? [{ from, to }] : [],
      ),
    });
    if (proof.unexpected.length > 0) {
      throw new UpdateError(
        'proof-failed',
        'the edit would change more than the version: nothing was written',
        { detail: proof.unexpected },
      );
    }
    for (const name of proof.alsoMoved) log.info(`${name} is pinned by the same text and moves, too`);
  } finally {
    await rm(config, { recursive: true, force: true });
  }
}
