import { applyTextEdits, createTextEdit, type TextEdit } from '../../../core/compose/edit.ts';
import { parseYamlDocuments } from '../../../core/compose/yaml-document.ts';
import type { TextFile } from '../../../core/files/text-file.ts';
import type { FileReplacement } from '../../../core/files/transaction/replace-files.ts';
import type { Product } from '../../../core/names/product.ts';
import { settingsFileName } from '../../../core/names/state-directory-name.ts';
import { parseSettingsFile } from '../../run/options/settings-file.ts';
import { addLinesAfter, appendLines, indentOf, isBlock, ownValueOf, removeEntry } from './block-entries.ts';
import { createEnableError } from './plan-enable.ts';
import { hasUsualServices, updatesName } from './updates-service.ts';

interface SettingsChange {
  product: Product;
  app: string;
  workers: readonly string[];
  undo: boolean;
}

/**
 * Adds the service `updates` to the services in the settings file, or removes it. Null if the file needs no change. An
 * updater then updates the service, too.
 * @throws UpdateError enable-refused if the file cannot be changed automatically; settings-invalid
 */
export function planSettingsChange(
  path: string,
  text: string | null,
  { product, app, workers, undo }: SettingsChange,
): FileReplacement | null {
  const file = { path, text: text ?? '' };
  const listed = listServices(file);
  const kept = listed.length > 0 ? listed : [app, ...workers];
  const missing = [app, ...workers, updatesName].filter((name) => !kept.includes(name));
  const wanted = undo ? kept.filter((name) => name !== updatesName) : [...kept, ...missing];
  const isUsual = listed.length === 0 && (undo || hasUsualServices(product, app, workers));
  if (isUsual || wanted.join() === listed.join()) return null;
  const after = applyTextEdits(file.text, planServicesEdits(file, wanted, undo));
  if (listServices({ path, text: after }).join() === wanted.join()) return { path, before: text, after };
  throw createEnableError(`the services in ${settingsFileName} cannot be changed automatically`, [
    `services: [${wanted.join(', ')}]`,
  ]);
}

/** Empty if the text is not a valid settings file, or lists no services. */
function listServices(file: TextFile): string[] {
  try {
    return (parseSettingsFile(file).get('service') ?? []).map(({ value }) => value);
  } catch {
    return [];
  }
}

function planServicesEdits(file: TextFile, wanted: readonly string[], undo: boolean): TextEdit[] {
  const root = parseYamlDocuments(file)[0]?.contents;
  const services = ownValueOf(root, 'services');
  if (services === undefined) return [appendLines(file, [`services: [${wanted.join(', ')}]`])];
  if (isBlock(services)) {
    if (undo) return [removeEntry(file, root, ['services', updatesName]) ?? []].flat();
    const missing = wanted.slice(services.items.length);
    const indent = ' '.repeat(indentOf(file, services) ?? 0);
    return [
      addLinesAfter(
        file,
        services,
        missing.map((name) => `${indent}- ${name}`),
      ),
    ];
  }
  const [start, end] = (services as { range?: number[] } | null)?.range ?? [];
  return start === undefined || end === undefined
    ? []
    : [createTextEdit(file, { start, end }, `[${wanted.join(', ')}]`)];
}
