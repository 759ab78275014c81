import { findEngineError } from '../../../engine/http/engine-error.ts';
import type { Container } from '../../../engine/objects/container.ts';
import { toObject } from '../../../engine/objects/json.ts';
import { type JournaledRestorePoint, writeRestorePointState } from '../data-services/stop-data-services.ts';
import type { JournaledContext } from '../replace/replacement.ts';

/**
 * Sets the restart policy of stopped containers to `unless-stopped`, so that a restarted engine does not start them.
 */
export async function suspendRestartPolicies(
  context: JournaledContext,
  point: JournaledRestorePoint,
  own: readonly Container[],
): Promise<void> {
  const known = new Set(point.policies.map(({ id }) => id));
  const raw = await context.engine.inspectRaw(own.map(({ id }) => id));
  const policies = raw.flatMap(({ Id, HostConfig }) => {
    const policy = formatRestartPolicy(toObject(HostConfig).RestartPolicy);
    return policy === 'no' || policy === 'unless-stopped' ? [] : [{ id: String(Id), policy }];
  });
  if (policies.length === 0) return;
  const added = policies.filter(({ id }) => !known.has(id));
  if (added.length > 0)
    await writeRestorePointState(context.journal, { policies: [...point.policies, ...added] });
  // Replace recorded policies too, because a killed run or an earlier round may not have replaced them.
  for (const { id } of policies) await setRestartPolicy(context, { id, policy: 'unless-stopped' });
}

/** Ignores a removed container, because it is recreated with its policy. */
export async function setRestartPolicy(
  { engine, log }: Pick<JournaledContext, 'engine' | 'log'>,
  { id, policy }: JournaledRestorePoint['policies'][number],
): Promise<void> {
  await engine.setRestartPolicy(id, policy).catch((error: unknown) => {
    const cause = findEngineError(error);
    if (cause?.status == null) throw error;
    if (cause.code === 'not-found') return;
    const command = `docker update --restart=${policy} ${id.slice(0, 12)}`;
    log.warn(`${command} failed: ${cause.message}`);
  });
}

function formatRestartPolicy(given: unknown): string {
  const { Name = 'no', MaximumRetryCount: most = 0 } = toObject(given);
  return `${Name || 'no'}${Name === 'on-failure' && most ? `:${most}` : ''}`;
}
