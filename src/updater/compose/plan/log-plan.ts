import { basename } from 'node:path';
import { isNumberedTag } from '../../../core/release/pin-tag.ts';
import { serviceOf } from '../../../engine/objects/container.ts';
import { hasTagChange, type ServiceUpdate } from '../../plan/release-plan.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { Log } from '../../run/log/run-log.ts';
import { replacedServicesOf } from '../inspect/installation.ts';
import { excludeAllWildcard } from '../inspect/services/check-specified-services.ts';
import { migrationServicesOf } from '../inspect/services/migrations.ts';
import type { ProjectUpdatePlan } from './prepared-plan.ts';

/** Logs the plan in one line, followed by its warnings. */
export function logPlan(plan: ProjectUpdatePlan, log: Log): void {
  const { installation } = plan;
  const bumps = plan.updates.filter(hasTagChange);
  const places = [...new Set(bumps.map((update) => describeBump(update, installation.files.newEnvFile)))];
  const migrations = migrationServicesOf(installation);
  const all = replacedServicesOf(installation).map(({ name }) => name);
  const moved = all.filter((name) => !migrations.includes(name));
  const known = [...all, ...migrations];
  const stay = [...new Set(installation.containers.map(serviceOf))]
    .filter((name) => !known.includes(name))
    .sort();
  const what = [
    ...(installation.kind === 'generated' ? ["install the release's compose file"] : []),
    ...places,
  ];
  const run = migrations.length > 0 ? [`run ${joinWithAnd(migrations)} once`] : [];
  const steps =
    what.length > 0
      ? [...what, ...run, `recreate ${joinWithAnd(moved)}`]
      : ['pull the image again', ...run, `recreate ${joinWithAnd(moved)} if the image has changed`];
  const { from, to } = plan;
  log.addMaskRules(() => ({ shown: [to] }));
  const way = from === to ? from : `${from} → ${to}`;
  log.info(
    `${way}: ${steps.join(', ')}${stay.length > 0 ? `; ${joinWithAnd(stay)} ${stay.length > 1 ? 'are' : 'is'} not updated` : ''}`,
    { from, to },
  );
  for (const warning of plan.warnings) log.warn(warning);
}

/**
 * Reminds the user that a new major or minor version may need a new compose file. Logged only if the user specified
 * services, because the product is then usually a third-party product.
 */
export function logComposeFileReminder(
  { installation, from, to }: Pick<ProjectUpdatePlan, 'installation' | 'from' | 'to'>,
  { servicesNamed, exclude }: { servicesNamed: boolean; exclude: readonly string[] },
  log: Log,
): void {
  const [before, after] = [from, to].map((word) => /\d+(?:\.\d+)?/.exec(word)?.[0]);
  if (!servicesNamed || exclude.includes(excludeAllWildcard) || installation.kind === 'generated') return;
  if (before === undefined || after === undefined || before === after) return;
  log.info(
    `if ${to} comes with a new compose file, compare it with yours: the update changes only the versions in your file`,
  );
}

/** A floating default tag is not changed. Instead, the variable is set in the env file (docs/contract.md 3.4). */
function describeBump({ pin, tag }: ServiceUpdate, envFile: string): string {
  const { kind, variable, description } = pin.location;
  return kind === 'default' && !isNumberedTag(pin.tag)
    ? `set ${variable} to ${tag} in ${basename(envFile)}`
    : `change ${description} to ${tag}`;
}
