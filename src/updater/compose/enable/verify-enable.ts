import type { ComposeModel } from '../../../engine/cli/compose.ts';
import { findModelDifferences } from '../verify-edit/compare-models.ts';
import { createEnableError } from './plan-enable.ts';
import { secretVariable, updatesName } from './updates-service.ts';

interface EnableExpectation {
  app: string;
  /** Full image references that the services must have, keyed by service. */
  images: ReadonlyMap<string, string>;
  /** Whether the service `updates` is removed. */
  undo: boolean;
  /** Lines for the operator, in case the edit is refused. */
  lines: readonly string[];
  /** Whether the tag of another service is at the same position in a file. */
  hasSharedPin(service: string): boolean;
}

/**
 * Requires that compose's model of the edited files differs only in the service and volume `updates`, in the secret of
 * the app, and in the images that become pinned, and that it has all these changes. Returns the changed services except
 * `updates`, the app first.
 * @throws UpdateError enable-refused
 */
export function requireExpectedEnableChanges(
  before: ComposeModel,
  after: ComposeModel,
  { app, images, undo, lines, hasSharedPin }: EnableExpectation,
): string[] {
  const changed = new Set<string>([app]);
  const unexpected: string[] = [];
  for (const { path, from, to } of findModelDifferences(before, after, [])) {
    const [section = '', name = '', key, variable] = path;
    if ((section === 'services' || section === 'volumes') && name === updatesName) continue;
    if (section === 'volumes' && path.length === 1 && hasOnlyKey(from ?? to, updatesName)) continue;
    const isSecret =
      name === app &&
      key === 'environment' &&
      (variable === undefined ? hasOnlyKey(from ?? to, secretVariable) : variable === secretVariable);
    const isImage = key === 'image' && (images.has(name) ? images.get(name) === to : hasSharedPin(name));
    if (section === 'services' && (isSecret || isImage)) changed.add(name);
    else unexpected.push(path.join('.'));
  }
  for (const [name, image] of images)
    if (after.services[name]?.image !== image) unexpected.push(`services.${name}.image`);
  if (unexpected.length > 0)
    throw createEnableError(
      `the edit would also change ${unexpected.slice(0, 5).join(', ')}, so no file was written`,
      lines,
    );
  const volume = after.volumes?.[updatesName];
  const isComplete = [
    updatesName in after.services,
    // When the lines are removed, `planDisable` checks the secret. Until then, `env_file` can add it to the model.
    !undo && secretVariable in (after.services[app]?.environment ?? {}),
    volume !== undefined && volume?.external !== true,
  ].every((isThere) => isThere !== undo);
  if (isComplete) return [...changed];
  const what = undo ? 'removed from' : 'added to';
  throw createEnableError(`not all lines of ${updatesName} can be ${what} the files automatically`, lines);
}

const hasOnlyKey = (value: unknown, key: string): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).join() === key;
