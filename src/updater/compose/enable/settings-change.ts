import { applyTextEdits, createTextEdit, type TextEdit } from '../../../core/compose/edit.ts';
import { parseYamlDocuments } from '../../../core/compose/yaml-document.ts';
import type { TextFile } from '../../../core/files/text-file.ts';
import type { FileReplacement } from '../../../core/files/transaction/replace-files.ts';
import type { Product } from '../../../core/names/product.ts';
import { addLinesAfter, appendLines, indentOf, isBlock, ownValueOf, removeEntry } from './block-entries.ts';
import { hasUsualServices, updatesName } from './updates-service.ts';

/**
 * Adds the service `updates` to the services in the settings file, or removes it. Null if the file needs no change. An
 * updater then updates the service, too.
 */
export function planSettingsChange(
  path: string,
  text: string | null,
  {
    product,
    app,
    workers,
    undo,
  }: { product: Product; app: string; workers: readonly string[]; undo: boolean },
): FileReplacement | null {
  const file = { path, text: text ?? '' };
  const root = parseYamlDocuments(file)[0]?.contents;
  const services = ownValueOf(root, 'services');
  const named = [app, ...workers, ...(undo ? [] : [updatesName])].join(', ');
  const isNeeded = undo
    ? services !== undefined
    : services !== undefined || !hasUsualServices(product, app, workers);
  if (!isNeeded) return null;
  const edit = planServicesEdit(file, root, services, named, undo);
  return edit && { path, before: text, after: applyTextEdits(file.text, [edit]) };
}

function planServicesEdit(
  file: TextFile,
  root: unknown,
  services: unknown,
  named: string,
  undo: boolean,
): TextEdit | null {
  if (services === undefined) return appendLines(file, [`services: [${named}]`]);
  if (isBlock(services))
    return undo
      ? removeEntry(file, root, ['services', updatesName])
      : addLinesAfter(file, services, [`${' '.repeat(indentOf(file, services) ?? 0)}- ${updatesName}`]);
  const [start, end] = (services as { range?: number[] } | null)?.range ?? [];
  return start === undefined || end === undefined ? null : createTextEdit(file, { start, end }, `[${named}]`);
}
