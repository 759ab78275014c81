import { dirname, resolve } from 'node:path';
import { UpdateError } from '../progress/update-error.ts';
import { type ComposeFile, type Link, readComposeFile, type ScalarText } from './compose-file.ts';
import type { ProjectFiles, TextFile } from './text-file.ts';

/** The `image` that wins for a service, and the file in which it is written. */
export interface EffectiveImage {
  file: TextFile;
  image: ScalarText;
}

/**
 * What compose takes for the image of a service: the last `-f` file that gives one, through `extends` and `include`.
 * @throws UpdateError built-from-source, pin-unsupported where it comes from a file that is not at hand, no-app
 */
export function effectiveImage(files: ProjectFiles, service: string): EffectiveImage {
  const found = search(files, files.composeFiles.map(readComposeFile), service, new Set());
  if (found.image) return found.image;
  if (found.away) throw found.away;
  if (found.hasBuild) {
    const sources = files.composeFiles.map(({ path }) => baseName(path)).join(', ');
    throw new UpdateError(
      'built-from-source',
      `${service} is built from source in ${sources} and names no image`,
    );
  }
  if (found.isThere) {
    throw new UpdateError('compose-invalid', `${service} has neither an image nor a build in ${list(files)}`);
  }
  const services = [...new Set(files.composeFiles.flatMap((file) => readComposeFile(file).services))];
  throw new UpdateError('no-app', `no service ${service} in ${list(files)}`, {
    advice: `Its services are ${services.sort().join(', ') || 'none'}: name them with --service.`,
  });
}

interface Found {
  image?: EffectiveImage;
  hasBuild: boolean;
  isThere: boolean;
  /** The image may be in a file that is not at hand. */
  away?: UpdateError;
}

/** Looks from the file that wins to the one that yields. */
function search(
  files: ProjectFiles,
  layers: readonly ComposeFile[],
  service: string,
  seen: Set<string>,
): Found {
  const found: Found = { hasBuild: false, isThere: false };
  for (const layer of layers.toReversed()) {
    const entry = layer.service(service);
    if (!entry) {
      const included = searchIncludes(files, layer, service, seen);
      merge(found, included);
      if (found.image) break;
      continue;
    }
    found.isThere = true;
    found.hasBuild ||= entry.hasBuild;
    if (entry.image) found.image = { file: layer.file, image: entry.image };
    else if (entry.extends && !entry.resetsImage) {
      const { service: base, file, line } = entry.extends;
      const says = `${service} extends ${base}`;
      const from = file === null ? layer : linked(files, layer, { path: file, line }, `${says} of`);
      const step = `${from instanceof UpdateError ? file : from.file.path}\n${base}`;
      if (seen.has(step)) throw circular(layer, line, says);
      if (from instanceof UpdateError) found.away ??= from;
      else merge(found, search(files, [from], base, new Set(seen).add(step)));
    }
    if (found.image || found.away || entry.replaces || entry.resetsImage) break;
  }
  return found;
}

function searchIncludes(files: ProjectFiles, layer: ComposeFile, service: string, seen: Set<string>): Found {
  const found: Found = { hasBuild: false, isThere: false };
  for (const link of layer.includeLinks.toReversed()) {
    const from = linked(files, layer, link, `${service} may come from`);
    if (from instanceof UpdateError) {
      found.away ??= from;
      continue;
    }
    const step = `${from.file.path}\n`;
    if (seen.has(step)) throw circular(layer, link.line, `include ${link.path}`);
    merge(found, search(files, [from], service, new Set(seen).add(step)));
    if (found.image) break;
  }
  return found;
}

function merge(found: Found, other: Found): void {
  found.hasBuild ||= other.hasBuild;
  found.isThere ||= other.isThere;
  if (other.image && !found.image) found.image = other.image;
  if (other.away && !found.away) found.away = other.away;
}

/** The file that a link leads to, or why it cannot be looked into. */
function linked(files: ProjectFiles, from: ComposeFile, link: Link, says: string): ComposeFile | UpdateError {
  const path = resolve(dirname(from.file.path), link.path);
  const file = [...files.composeFiles, ...(files.linkedFiles ?? [])].find(
    (candidate) => candidate.path === path,
  );
  if (file) return readComposeFile(file);
  const where = `${baseName(from.file.path)} line ${link.line}`;
  return new UpdateError('pin-unsupported', `${says} ${link.path} (${where}), a file that is not at hand`);
}

const circular = (layer: ComposeFile, line: number, says: string): UpdateError =>
  new UpdateError('compose-invalid', `${baseName(layer.file.path)} line ${line}: ${says} in a circle`);

const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

const list = (files: ProjectFiles): string =>
  files.composeFiles.map(({ path }) => baseName(path)).join(', ') || 'no file';
