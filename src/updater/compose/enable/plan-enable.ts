import { isMap, isSeq } from 'yaml';
import { getParsedComposeFile } from '../../../core/compose/compose-file.ts';
import {
  applyEditsToDraft,
  createDraft,
  type ProjectDraft,
  setDraftFileText,
  setDraftVariable,
} from '../../../core/compose/draft.ts';
import { applyTextEdits, createTextEdit, type TextEdit } from '../../../core/compose/edit.ts';
import { parseEnvAssignments } from '../../../core/compose/env-file.ts';
import { findWrittenTag, requirePin } from '../../../core/compose/pins/find-pin.ts';
import { isSamePublisher, parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import { planPinEdits, updatedReferenceOf } from '../../../core/compose/pins/plan-pin-edits.ts';
import {
  displayPathOf,
  isComposeFilePath,
  listProjectFiles,
  type ProjectFiles,
} from '../../../core/compose/project-files.ts';
import { createVariableLookup } from '../../../core/compose/variables.ts';
import { parseYamlStringValues } from '../../../core/compose/yaml-document.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { TextFile } from '../../../core/files/text-file.ts';
import type { Product } from '../../../core/names/product.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import { addLinesAfter, appendLines, indentOf, isBlock, ownValueOf, removeEntry } from './block-entries.ts';
import {
  chooseNetwork,
  formatLinesToPaste,
  formatUpdatesService,
  secretReference,
  secretVariable,
  updatesName,
} from './updates-service.ts';

export interface EnableRequest {
  product: Product;
  app: string;
  workers: readonly string[];
  /** New tag of the services whose tag is not a version; null if the tags stay. */
  tag: string | null;
  /** Host path of the engine's socket. */
  socket: string;
  /** Value of the variable with the secret, if no env file sets it yet. */
  secret: string;
}

/** The planned edits, and the lines that an operator can add instead. */
interface EnablePlan {
  draft: ProjectDraft;
  lines: readonly string[];
}

/**
 * Plans the lines of the service `updates`, its volume, and the secret. Tags such as `latest` become the running
 * version. If the service is there, only a missing secret is added.
 * @throws UpdateError enable-refused with the lines to paste
 */
export function planEnable(files: ProjectFiles, model: ComposeModel, request: EnableRequest): EnablePlan {
  const { product, app, workers, tag, socket } = request;
  const repository = requireUpdatesImage(product);
  const withSecret = (draft: ProjectDraft) =>
    secretOf(files) === '' ? setDraftVariable(draft, secretVariable, request.secret) : draft;
  if (isServiceEnabled(model, product)) return { draft: withSecret(createDraft(files)), lines: [] };
  const own = parseImageReference(repository);
  const pins = [app, ...workers].map((service) => requirePin(files, service));
  const moved = pins.filter(({ tag: { kind }, reference }) => {
    const isFloating = !isVersionTag(kind) && reference.digest === null;
    return isFloating && own !== null && isSamePublisher(reference, own);
  });
  const moves = tag === null ? [] : moved.map((pin) => ({ pin, tag }));
  const pinned = applyEditsToDraft(createDraft(files), planPinEdits(files, moves));
  const image = `${repository}:${findWrittenTag(pinned.files, app)}`;
  const network = chooseNetwork(model, app);
  const service = { product, app, workers, image, socket, network: network ?? null };
  const images = new Map(moves.map((move) => [move.pin.service, updatedReferenceOf(move)] as const));
  const lines = formatLinesToPaste(service, images);
  const refuse = (why: string): never => {
    throw createEnableError(why, lines);
  };
  const [first] = pins;
  if (own === null || (first && !isSamePublisher(first.reference, own)))
    refuse(`${first?.reference.repository} and ${repository} do not have the same publisher`);
  if (network === undefined)
    refuse(`${app} has no network that only this project uses, so ${updatesName} cannot reach it safely`);
  if (updatesName in model.services) refuse(`the project already has a service ${updatesName}`);
  if (files.composeFiles.some((file) => hasVolume(file)))
    refuse(`the project already has a volume ${updatesName}`);
  if (secretVariable in (model.services[app]?.environment ?? {}))
    refuse(`${app} already has the variable ${secretVariable}`);
  if (secretOf(files) !== '' && !/^[!-~]{32,}$/.test(secretOf(files)))
    refuse(`the value of ${secretVariable} must have at least 32 ASCII characters without spaces`);
  const edits = planLines(pinned.files, app, (indent) => formatUpdatesService(service, indent));
  if (edits === null)
    return refuse(
      `the definition of ${app} cannot be extended automatically, because it is in braces, comes from an anchor, or is in another file`,
    );
  return { draft: withSecret(applyEditsToDraft(pinned, edits)), lines };
}

/** Whether the product's own service is in the project. */
export const isServiceEnabled = ({ services }: ComposeModel, product: Product): boolean =>
  services[updatesName]?.image?.startsWith(`${product.updatesImage}:`) ?? false;

const hasVolume = (file: TextFile): boolean =>
  getParsedComposeFile(file).documents.some((yaml) =>
    yaml.keys(yaml.get(yaml.contents, 'volumes')).includes(updatesName),
  );

/**
 * Plans the removal of the lines that `planEnable` adds. The version stays pinned.
 * @throws UpdateError enable-refused if a compose file would still use the secret
 */
export function planDisable(files: ProjectFiles, app: string): EnablePlan {
  const paths = [
    ['services', updatesName],
    ['services', app, 'environment', secretVariable],
    ['volumes', updatesName],
  ];
  const removeFrom = (draft: ProjectDraft, { path, text: before }: TextFile, edits: readonly TextEdit[]) => {
    if (edits.length === 0) return draft;
    const text = applyTextEdits(before, edits);
    // If the file did not end with a line break, `enable` has added one.
    const restored = before.endsWith('\n') ? text : text.replace(/\r?\n$/, '');
    return setDraftFileText(draft, { path, text: restored }, `removed ${updatesName}`);
  };
  const draft = files.composeFiles.reduce((before, file) => {
    const root = getParsedComposeFile(file).documents[0]?.contents;
    return removeFrom(
      before,
      file,
      paths.flatMap((path) => removeEntry(file, root, path) ?? []),
    );
  }, createDraft(files));
  const user = listProjectFiles(draft.files).find(
    (file) =>
      isComposeFilePath(draft.files, file.path) &&
      parseYamlStringValues(file).some((text) => text.includes(secretVariable)),
  );
  if (user !== undefined)
    throw createEnableError(`${displayPathOf(files, user.path)} still uses ${secretVariable}`, []);
  return {
    draft: files.envFiles.reduce(
      (each, file) => removeFrom(each, file, removeAssignment(file, secretVariable)),
      draft,
    ),
    lines: [],
  };
}

export const createEnableError = (why: string, lines: readonly string[]): UpdateError =>
  new UpdateError('enable-refused', why, {
    detail: lines,
    ...(lines.length > 0 && {
      advice: `Add the lines from the log to the files, and ${secretVariable} with the output of openssl rand -hex 32 to the env file.`,
    }),
  });

/** @throws UpdateError enable-refused */
export function requireUpdatesImage({ name, updatesImage }: Product): string {
  if (updatesImage !== undefined) return updatesImage;
  throw new UpdateError('enable-refused', `the product ${name} has no updatesImage`, {
    advice: 'Use the updater image from the documentation of the product.',
  });
}

/** Whether a tag is a version, or a part of one, and therefore changed by each update. */
export const isVersionTag = (kind: string): boolean => kind === 'release' || kind === 'part';

/** Returns the value in the env files; empty if there is none. */
export const secretOf = ({ envFiles }: Pick<ProjectFiles, 'envFiles'>): string =>
  createVariableLookup(envFiles)(secretVariable)?.text ?? '';

/** Returns null if the app is not defined in block style in one of the project's own files. */
function planLines(
  files: ProjectFiles,
  app: string,
  serviceLines: (indent: number) => readonly string[],
): TextEdit[] | null {
  for (const file of files.composeFiles) {
    const [document, ...others] = getParsedComposeFile(file).documents;
    const root = document?.contents;
    const services = ownValueOf(root, 'services');
    const definition = ownValueOf(services, app);
    if (others.length > 0 || !isBlock(services) || !isBlock(definition)) continue;
    const [outer, inner] = [indentOf(file, services), indentOf(file, definition)];
    if (outer === null || inner === null || inner <= outer) return null;
    const step = inner - outer;
    const given = document?.get(definition, 'environment') ?? null;
    const environment = planEnvironment(file, definition, given, inner, step);
    const volumes = planVolume(file, root, step);
    if (environment === null || volumes === null) return null;
    const service = serviceLines(step).map((line) => `${' '.repeat(outer)}${line}`);
    return [environment, addLinesAfter(file, services, service), volumes];
  }
  return null;
}

function planEnvironment(
  file: TextFile,
  definition: unknown,
  given: unknown,
  indent: number,
  step: number,
): TextEdit | null {
  const pair = `${secretVariable}: ${secretReference}`;
  if (given === null) {
    const lines = ['environment:', `${' '.repeat(step)}${pair}`];
    return addLinesAfter(
      file,
      definition,
      lines.map((line) => `${' '.repeat(indent)}${line}`),
    );
  }
  const own = ownValueOf(definition, 'environment');
  const column = isBlock(own) ? indentOf(file, own) : null;
  if (column === null) return null;
  const line = isSeq(own) ? `- ${secretVariable}=${secretReference}` : pair;
  return addLinesAfter(file, own, [`${' '.repeat(column)}${line}`]);
}

function planVolume(file: TextFile, root: unknown, step: number): TextEdit | null {
  const volumes = ownValueOf(root, 'volumes');
  if (volumes === undefined && isMap(root) && !root.flow)
    return appendLines(file, ['volumes:', `${' '.repeat(step)}${updatesName}:`]);
  const column = isBlock(volumes) && isMap(volumes) ? indentOf(file, volumes) : null;
  return column === null ? null : addLinesAfter(file, volumes, [`${' '.repeat(column)}${updatesName}:`]);
}

function removeAssignment(file: TextFile, key: string): TextEdit[] {
  const { text } = file;
  return parseEnvAssignments(file).flatMap((assignment) => {
    if (assignment.key !== key) return [];
    const start = text.lastIndexOf('\n', assignment.start - 1) + 1;
    const next = text.indexOf('\n', assignment.end);
    return [createTextEdit(file, { start, end: next < 0 ? text.length : next + 1 }, '')];
  });
}
