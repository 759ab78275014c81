import type { ComposeModel } from '../../../engine/cli/compose.ts';
import { findModelDifferences } from '../verify-edit/compare-models.ts';
import { createEnableError } from './plan-enable.ts';
import { secretVariable, updatesName } from './updates-service.ts';

interface EnableExpectation {
  app: string;
  /** Full image references that the services must have, keyed by service. */
  images: ReadonlyMap<string, string>;
  /** Whether the tag of another service is at the same position in a file. */
  hasSharedPin(service: string): boolean;
}

/**
 * Requires that compose's model of the edited files differs only in the service and volume `updates`, in the secret, and
 * in the images that become pinned. Returns the other services that change, the app first.
 * @throws UpdateError enable-refused
 */
export function requireExpectedEnableChanges(
  before: ComposeModel,
  after: ComposeModel,
  { app, images, hasSharedPin }: EnableExpectation,
): string[] {
  const changed = new Set<string>([app]);
  const unexpected: string[] = [];
  for (const { path, from, to } of findModelDifferences(before, after, [])) {
    const [section = '', name = '', key, variable] = path;
    if ((section === 'services' || section === 'volumes') && name === updatesName) continue;
    if (section === 'volumes' && path.length === 1 && hasOnlyKey(from ?? to, updatesName)) continue;
    const isSecret =
      key === 'environment' && (variable ?? secretVariable) === secretVariable && path.length < 5;
    const isOnlySecret = variable !== undefined || hasOnlyKey(from ?? to, secretVariable);
    const isImage = key === 'image' && (images.has(name) ? images.get(name) === to : hasSharedPin(name));
    if (section === 'services' && ((isSecret && isOnlySecret) || isImage)) changed.add(name);
    else unexpected.push(path.join('.'));
  }
  for (const [name, image] of images)
    if (after.services[name]?.image !== image) unexpected.push(`services.${name}.image`);
  if (unexpected.length === 0) return [...changed];
  throw createEnableError(
    `the edit would also change ${unexpected.slice(0, 5).join(', ')}, so no file was written`,
    [],
  );
}

const hasOnlyKey = (value: unknown, key: string): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).join() === key;
