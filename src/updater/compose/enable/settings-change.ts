import { isSeq, parseDocument } from 'yaml';
import type { FileReplacement } from '../../../core/files/transaction/replace-files.ts';
import type { Product } from '../../../core/names/product.ts';
import { settingsFileName } from '../../../core/names/state-directory-name.ts';
import { parseSettingsFile } from '../../run/options/settings-file.ts';
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
 * @throws UpdateError settings-invalid; enable-refused if other text of the file would change
 */
export function planSettingsChange(
  path: string,
  text: string | null,
  { product, app, workers, undo }: SettingsChange,
): FileReplacement | null {
  const before = text ?? '';
  const listed = (parseSettingsFile({ path, text: before }).get('service') ?? []).map(({ value }) => value);
  const kept = listed.length > 0 ? listed : [app, ...workers];
  const missing = [app, ...workers, updatesName].filter((name) => !kept.includes(name));
  const wanted = undo ? kept.filter((name) => name !== updatesName) : [...kept, ...missing];
  const isUsual = listed.length === 0 && (undo || hasUsualServices(product, app, workers));
  if (isUsual || wanted.join() === listed.join()) return null;
  const document = parseDocument(before);
  const isEmpty = document.contents === null;
  const format = [true, false]
    .map((indentSeq) => ({ indentSeq, lineWidth: 0, flowCollectionPadding: false }))
    .find((each) => isEmpty || document.toString(each).trimEnd() === before.trimEnd());
  if (format === undefined)
    throw createEnableError(`the services in ${settingsFileName} cannot be changed automatically`, [
      `services: [${wanted.join(', ')}]`,
    ]);
  const services = document.get('services');
  if (!isSeq(services)) document.set('services', document.createNode(wanted, { flow: true }));
  else if (undo) services.delete(listed.indexOf(updatesName));
  else for (const name of missing) services.add(name);
  return { path, before: text, after: document.toString(format) };
}
