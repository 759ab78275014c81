import { basename, join } from 'node:path';
import { readComposeFile } from '../compose/compose-file.ts';
import { applyEdits, type Edit } from '../compose/edit.ts';
import { findAssignments, setVariableEdit } from '../compose/env-file.ts';
import { findPin, pinEdits } from '../compose/pins.ts';
import { parseReference } from '../compose/reference.ts';
import type { ProjectFiles, TextFile } from '../compose/text-file.ts';
import type { Model } from '../engine/compose.ts';
import type { Image } from '../engine/container.ts';
import type { Engine } from '../engine/engine.ts';
import { UpdateError } from '../progress/update-error.ts';
import { compareVersions } from '../release/order.ts';
import { versionFromLabel } from '../release/tag.ts';
import { type Installation, isGenerated } from './installation.ts';
import { isOverride, type Move, type UpdatePlan } from './plan.ts';
import { modelWith, type Planned, prove } from './proof.ts';
import { readReleaseFiles } from './release-files.ts';

/** One file as it was and as it will be. */
export interface Change {
  path: string;
  /** Null where the file is created. */
  before: string | null;
  after: string;
  /** `.env line 4: v1.4.2 → v1.5.0` */
  description: string;
}

/** The second half of a plan: what only the pulled image can tell. */
export interface Settled {
  changes: readonly Change[];
  /** The model the instance will have. */
  model: Model;
  /** Image references of the moved services in that model. */
  references: ReadonlyMap<string, string>;
  /** `1.5.0` where the new app image's label says so. */
  version: string | null;
  warnings: readonly string[];
  /** Services that share a pin and move with their next recreate. */
  alsoMoved: readonly string[];
  /** Services that the new file brings; they are not started. */
  newServices: readonly string[];
}

interface Draft {
  files: ProjectFiles;
  changes: Change[];
  warnings: string[];
}

/**
 * Decides every byte to be written, and proves it by compose's own model; touches nothing.
 * `images` are the local images behind the moves' references.
 * Refusals: downgrade, release-file, no-marker, shared-definition. Failure: proof-failed.
 */
export async function settlePlan(
  engine: Engine,
  installation: Installation,
  plan: UpdatePlan,
  images: ReadonlyMap<string, Image>,
): Promise<Settled> {
  const appImage = images.get(plan.moves[0]?.to ?? '');
  const version = versionFromLabel(appImage?.labels['org.opencontainers.image.version']);
  const { runningVersion } = installation;
  if (version && runningVersion && compareVersions(version, runningVersion) < 0) {
    throw new UpdateError(
      'downgrade',
      `${plan.moves[0]?.to} is v${version}, older than v${runningVersion}, which runs`,
    );
  }
  const draft: Draft = { files: installation.files, changes: [], warnings: [] };
  if (installation.kind === 'generated' && appImage) {
    await takeReleaseFiles(engine, installation, appImage, draft);
    if (plan.target) setVersion(draft, installation.versionVariable, plan.target.tag);
  }
  const edits = editPins(draft, installation, plan.moves, images);
  const planned: Planned = { images: plannedImages(draft, plan.moves), substitutions: substitutions(edits) };
  if (draft.changes.length === 0) {
    return {
      ...outcome(installation.model, planned.images),
      changes: [],
      version,
      warnings: [],
      alsoMoved: [],
      newServices: [],
    };
  }
  const model = await modelWith(installation.compose, draft.files.composeFiles, draft.files.envFiles);
  const proof = prove(installation.model, model, planned);
  if (installation.kind === 'generated') checkGenerated(installation, model, planned);
  else if (proof.unexpected.length > 0) {
    throw new UpdateError(
      'proof-failed',
      'the edit would change more than the version: nothing was written',
      {
        detail: proof.unexpected,
      },
    );
  }
  const moved = new Set([
    ...plan.moves.map(({ service }) => service),
    ...installation.followers.map(({ name }) => name),
  ]);
  return {
    ...outcome(model, planned.images),
    changes: draft.changes,
    version,
    warnings: draft.warnings,
    alsoMoved: proof.alsoMoved.filter((name) => !moved.has(name)),
    newServices: Object.keys(model.services).filter((name) => !(name in installation.model.services)),
  };
}

const outcome = (model: Model, planned: ReadonlyMap<string, string>) => ({
  model,
  references: new Map(
    [...planned.keys()].map(
      (name) => [name, model.services[name]?.image ?? planned.get(name) ?? ''] as const,
    ),
  ),
});

/** The files that the release ships overwrite those of the install, all that it uses. */
async function takeReleaseFiles(
  engine: Engine,
  installation: Installation,
  image: Image,
  draft: Draft,
): Promise<void> {
  const { directory } = installation.project;
  const used = usedReleaseFiles(installation);
  const runningImage = installation.services[0]?.containers.at(-1)?.imageId;
  const [running] = runningImage && runningImage !== image.id ? await engine.images([runningImage]) : [];
  const [fresh, shipped] = await Promise.all([
    readReleaseFiles(engine, image, used),
    running ? readReleaseFiles(engine, running, used).catch(() => null) : null,
  ]);
  for (const [name, after] of fresh) {
    const path = join(directory, name);
    const isOwn = draft.files.composeFiles.some((candidate) => candidate.path === path);
    const file = [...draft.files.composeFiles, ...(draft.files.linkedFiles ?? [])].find(
      (candidate) => candidate.path === path,
    );
    const before = file?.text ?? null;
    if (before === after) continue;
    if (before !== null && !isGenerated(before)) {
      draft.warnings.push(
        `${name} has no "# svc:generated" in its first line; it is overwritten all the same`,
      );
    } else if (before !== null && shipped?.has(name) && shipped.get(name) !== before) {
      draft.warnings.push(
        `${name} differs from the one of the running release: edits made by hand are overwritten`,
      );
    }
    replace(
      draft,
      isOwn ? 'composeFiles' : 'linkedFiles',
      { path, text: after },
      before,
      `${name}: the file of the new release`,
    );
  }
}

/** The generated files among the project's own, by `-f` or by `include`. */
function usedReleaseFiles(installation: Installation): string[] {
  const { directory } = installation.project;
  const { composeFiles } = installation.files;
  const included = composeFiles.flatMap((file) =>
    readComposeFile(file).includes.map((path) => basename(path)),
  );
  return ['compose.yaml', 'compose.cluster.yaml'].filter(
    (name) => composeFiles.some(({ path }) => path === join(directory, name)) || included.includes(name),
  );
}

/** Where the variable is set today, else in the last env file that compose reads. */
function setVersion(draft: Draft, variable: string, value: string): void {
  const { envFiles, newEnvFile } = draft.files;
  const holder = envFiles.findLast((file) => assigns(file, variable)) ??
    envFiles.at(-1) ?? { path: newEnvFile, text: '' };
  const edit = setVariableEdit(holder, variable, value);
  if (edit.before === edit.after) return;
  applyTo(draft, [edit]);
}

const assigns = (file: TextFile, variable: string): boolean =>
  findAssignments(file.text, basename(file.path)).some(({ key }) => key === variable);

function editPins(
  draft: Draft,
  installation: Installation,
  moves: readonly Move[],
  images: ReadonlyMap<string, Image>,
): Edit[] {
  const edits = pinEdits(
    draft.files,
    moves.flatMap((move) => {
      const pin = findPin(draft.files, move.service);
      if (installation.kind === 'generated' && !isOverride(installation, pin)) return [];
      const digest =
        pin.reference.digest === null
          ? undefined
          : releaseDigest(images.get(move.to), pin.reference.repository);
      if (pin.reference.digest !== null && digest === undefined) {
        throw new UpdateError(
          'proof-failed',
          `the registry gave no digest for ${move.to}, and ${pin.place.description} pins one`,
        );
      }
      const tag = pin.reference.tag ?? 'latest';
      if (tag === move.tag && (digest === undefined || digest === pin.reference.digest)) return [];
      return [{ pin, tag: move.tag, ...(digest === undefined ? {} : { digest }) }];
    }),
  );
  applyTo(draft, edits);
  return edits;
}

function releaseDigest(image: Image | undefined, repository: string): string | undefined {
  const digests = image?.digests.map((text) => text.split('@')) ?? [];
  return (digests.find(([name]) => name === repository || name?.endsWith(`/${repository}`)) ??
    digests[0])?.[1];
}

function applyTo(draft: Draft, edits: readonly Edit[]): void {
  for (const path of new Set(edits.map(({ file }) => file))) {
    const own = edits.filter(({ file }) => file === path);
    const holds = (list: FileList) => (draft.files[list] ?? []).some((file) => file.path === path);
    const list = (['composeFiles', 'linkedFiles'] as const).find(holds) ?? 'envFiles';
    const file = (draft.files[list] ?? []).find((candidate) => candidate.path === path);
    const description = own
      .map(
        ({ line, before, after }) =>
          `${basename(path)} line ${line}: ${before || 'nothing'} → ${after.trim()}`,
      )
      .join('; ');
    const earlier = draft.changes.find((change) => change.path === path);
    const before = earlier ? earlier.before : (file?.text ?? null);
    replace(draft, list, { path, text: applyEdits(file?.text ?? '', own) }, before, description);
  }
}

type FileList = 'composeFiles' | 'envFiles' | 'linkedFiles';

function replace(
  draft: Draft,
  list: FileList,
  file: TextFile,
  before: string | null,
  description: string,
): void {
  const files = draft.files[list] ?? [];
  const there = files.some(({ path }) => path === file.path);
  const next = there ? files.map((old) => (old.path === file.path ? file : old)) : [...files, file];
  draft.files = { ...draft.files, [list]: next };
  const earlier = draft.changes.find((change) => change.path === file.path);
  draft.changes = [
    ...draft.changes.filter((change) => change !== earlier),
    {
      path: file.path,
      before,
      after: file.text,
      description: earlier ? `${earlier.description}; ${description}` : description,
    },
  ];
}

function plannedImages(draft: Draft, moves: readonly Move[]): Map<string, string> {
  return new Map(moves.map(({ service }) => [service, findPin(draft.files, service).referenceText] as const));
}

const substitutions = (edits: readonly Edit[]) =>
  edits.flatMap(({ before, after, variable }) => (variable ? [{ from: before, to: after }] : []));

function checkGenerated(installation: Installation, model: Model, planned: Planned): void {
  const before = installation.model;
  for (const [service, image] of planned.images) {
    if (!model.services[service]) {
      throw new UpdateError(
        'release-file',
        `the release's compose file has no service ${service}, which this install runs`,
      );
    }
    if (model.services[service]?.image !== image || parseReference(image) === null) {
      throw new UpdateError(
        'proof-failed',
        `with the new files ${service} would run ${model.services[service]?.image}, not ${image}`,
      );
    }
  }
  const changed = (['networks', 'volumes'] as const).flatMap((kind) =>
    Object.keys(before[kind] ?? {})
      .filter((key) => key in (model[kind] ?? {}))
      .filter((key) => JSON.stringify(before[kind]?.[key]) !== JSON.stringify(model[kind]?.[key]))
      .map((key) => `${kind === 'networks' ? 'network' : 'volume'} ${key}`),
  );
  if (changed.length > 0) {
    throw new UpdateError(
      'shared-definition',
      `the release changes the definition of ${changed.join(', ')}, which is in use`,
    );
  }
}
