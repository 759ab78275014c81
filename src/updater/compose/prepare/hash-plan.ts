import { createHash } from 'node:crypto';
import type { PreparedPlan } from '../plan/prepared-plan.ts';

/** Identifies a plan by its target, its images, and compose's model of the new files. */
export function hashPlan({
  to,
  model,
  references,
  images,
}: Pick<PreparedPlan, 'to' | 'model' | 'references' | 'images'>): string {
  const ids = [...references].toSorted().map(([service, to]) => [service, images.get(to)?.id ?? null]);
  return createHash('sha256')
    .update(JSON.stringify([to, ids, model]))
    .digest('hex');
}
