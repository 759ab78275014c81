import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { resolveIncludeTree } from '../../../core/compose/include-tree.ts';
import type { ProjectFiles } from '../../../core/compose/project-files.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { TextFile } from '../../../core/files/text-file.ts';
import type { Compose, ComposeModel } from '../../../engine/cli/compose.ts';
import { createOverlayDirectory, overlayPathOf } from './create-overlay.ts';

/**
 * Additional files that override a project while an edit is checked. They apply to the models before and after the
 * edit.
 */
export interface PlaceholderFiles {
  composeFiles: readonly string[];
  envFiles: readonly string[];
  /** Whether to reject a project that `config` accepts but `up` would reject. */
  isStrict?: boolean;
}

/**
 * Lets compose resolve the project with the contents in `files`. The files at the `changed` paths are not written yet.
 * @throws UpdateError compose-invalid
 */
export async function resolveProposedModel(
  compose: Compose,
  files: ProjectFiles,
  changed: readonly string[],
  standIns: PlaceholderFiles = { composeFiles: [], envFiles: [] },
): Promise<ComposeModel> {
  const stage = await mkdtemp(join(tmpdir(), 'svc-updater-stage-'));
  const copied = new Map<string, string>();
  const put = async (text: string, name: string) => {
    const path = join(stage, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  const copyOf = async ({ path, text }: TextFile, name: string) => {
    const copy = await put(text, `${name}-${basename(path)}`);
    copied.set(copy, path);
    return copy;
  };
  const copies = (list: readonly TextFile[], kind: string) =>
    Promise.all(list.map((file, index) => copyOf(file, `${kind}${index}`)));
  const laidOver = (texts: readonly string[], kind: string) =>
    Promise.all(texts.map((text, index) => put(text, `${kind}-stand-in${index}`)));
  try {
    const { isStrict = false } = standIns;
    const { composeFiles, envFiles } = resolveIncludeTree(files);
    const linked = new Set([...composeFiles, ...envFiles].map(({ path }) => path));
    const moreFiles = await laidOver(standIns.composeFiles, 'f');
    const moreEnvFiles = await laidOver(standIns.envFiles, 'e');
    if (!changed.some((path) => linked.has(path))) {
      return await compose.config({
        files: [...(await copies(files.composeFiles, 'f')), ...moreFiles],
        envFiles: [...(await copies(files.envFiles, 'e')), ...moreEnvFiles],
        isStrict,
      });
    }
    // If `include` or `extends` links to a changed file, the link must find the new text.
    const shadow = await createOverlayDirectory(stage, compose.project.directory, files);
    const model = await compose.under(shadow).config({
      files: [...files.composeFiles.map(({ path }) => `${shadow}${path}`), ...moreFiles],
      envFiles: [...files.envFiles.map(({ path }) => `${shadow}${path}`), ...moreEnvFiles],
      isStrict,
    });
    return JSON.parse(JSON.stringify(model).replaceAll(shadow, ''));
  } catch (error) {
    throw error instanceof UpdateError
      ? restoreOriginalPaths(error, new Map([...copied, [overlayPathOf(stage), '']]))
      : error;
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/**
 * Replaces temporary paths in compose's error with the original paths. The temporary files are deleted before the error
 * is printed.
 */
function restoreOriginalPaths(error: UpdateError, paths: ReadonlyMap<string, string>): UpdateError {
  const own = (text: string) => [...paths].reduce((done, [from, to]) => done.replaceAll(from, to), text);
  return new UpdateError(error.code, own(error.message), {
    advice: error.advice,
    detail: error.detail.map(own),
    cause: error,
  });
}
