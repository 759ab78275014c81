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
import { planPinEdits } from '../../../core/compose/pins/plan-pin-edits.ts';
import type { ProjectFiles } from '../../../core/compose/project-files.ts';
import { createVariableLookup } from '../../../core/compose/variables.ts';
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

/**
 * Plans the lines of the service `updates`, its volume, and the secret. Tags such as `latest` become the running
 * version.
 * @throws UpdateError enable-refused with the lines to paste
 */
export function planEnable(files: ProjectFiles, model: ComposeModel, request: EnableRequest): ProjectDraft {
  const { product, app, workers, tag } = request;
  const pins = [app, ...workers].map((service) => requirePin(files, service));
  const floating = tag === null ? [] : pins.filter((pin) => !isVersionTag(pin.tag.kind));
  const pinned = applyEditsToDraft(
    createDraft(files),
    planPinEdits(
      files,
      floating.map((pin) => ({ pin, tag: tag ?? '' })),
    ),
  );
  const image = `${requireUpdatesImage(product)}:${findWrittenTag(pinned.files, app)}`;
  const network = chooseNetwork(model, app);
  const service = { product, app, workers, image, socket: request.socket, network: network ?? null };
  const refuse = (why: string): never => {
    throw createEnableError(why, formatLinesToPaste(service));
  };
  const own = parseImageReference(image.replace(/:[^:/]*$/, ''));
  if (network === undefined) refuse(`${app} has no network of its own, so ${updatesName} cannot reach it`);
  if (own !== null && pins[0] && !isSamePublisher(pins[0].reference, own))
    refuse(`${pins[0].reference.repository} and ${own.repository} do not have the same publisher`);
  if (updatesName in model.services) refuse(`the project already has a service ${updatesName}`);
  if (model.volumes && updatesName in model.volumes)
    refuse(`the project already has a volume ${updatesName}`);
  const edits = planLines(pinned.files, app, (indent) => formatUpdatesService(service, indent));
  if (edits === null) return refuse(`the definition of ${app} cannot be extended automatically`);
  const draft = applyEditsToDraft(pinned, edits);
  return isSecretSet(files) ? draft : setDraftVariable(draft, secretVariable, request.secret);
}

/** Plans the removal of the lines that `planEnable` adds. The version stays pinned. */
export function planDisable(files: ProjectFiles, app: string): ProjectDraft {
  const paths = [
    ['services', updatesName],
    ['services', app, 'environment', secretVariable],
    ['volumes', updatesName],
  ];
  const inCompose = files.composeFiles.map((file) => {
    const root = getParsedComposeFile(file).documents[0]?.contents;
    return { file, edits: paths.flatMap((path) => removeEntry(file, root, path) ?? []) };
  });
  const inEnv = files.envFiles.map((file) => ({ file, edits: removeAssignment(file, secretVariable) }));
  return [...inCompose, ...inEnv].reduce((draft, { file: { path, text: before }, edits }) => {
    if (edits.length === 0) return draft;
    const text = applyTextEdits(before, edits);
    // If the file did not end with a line break, `enable` has added one.
    const restored = before.endsWith('\n') ? text : text.replace(/\r?\n$/, '');
    return setDraftFileText(draft, { path, text: restored }, `removed ${updatesName}`);
  }, createDraft(files));
}

export const createEnableError = (why: string, lines: readonly string[]): UpdateError =>
  new UpdateError('enable-refused', why, {
    detail: lines.length === 0 ? [] : ['lines for the compose file:', ...lines],
    ...(lines.length > 0 && {
      advice: `Add the lines from the log to the compose file, and ${secretVariable} with the output of openssl rand -hex 32 to its env file.`,
    }),
  });

/** @throws UpdateError enable-refused */
export function requireUpdatesImage({ name, updatesImage }: Product): string {
  if (updatesImage !== undefined) return updatesImage;
  throw new UpdateError('enable-refused', `the product ${name} has no updatesImage`, {
    advice: 'Run the image that the publisher of the product names in its documentation.',
  });
}

/** Whether a tag is a version, or a part of one, and therefore changed by each update. */
export const isVersionTag = (kind: string): boolean => kind === 'release' || kind === 'part';

const isSecretSet = ({ envFiles }: ProjectFiles): boolean =>
  (createVariableLookup(envFiles)(secretVariable)?.text ?? '') !== '';

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
