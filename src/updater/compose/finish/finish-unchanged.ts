import { canRemainAfterUp } from '../../../engine/comparison/same-image.ts';
import { isUp } from '../../../engine/objects/container.ts';
import { logUnchangedOutcome } from '../../run/last-lines.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { RunOutcome } from '../../run/log/run-outcome.ts';
import { updatedServicesOf } from '../inspect/installation.ts';
import type { PreparedPlan } from '../plan/prepared-plan.ts';
import { findReleaseCommand } from '../plan/release/release-label.ts';
import { describeRunningServices, findVersionMismatchWarnings } from '../plan/version-sentences.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { verifyUnchangedServices } from '../verify/verify-replacement.ts';

/** True if the plan changes no file, and all required containers already run the planned images. */
export function hasNothingToUpdate({ installation, changes, references, images }: PreparedPlan): boolean {
  return (
    changes.length === 0 &&
    installation.app.running > 0 &&
    updatedServicesOf(installation).every(
      ({ name, containers, running }) =>
        running === containers.filter(isUp).length &&
        containers.every((container) => canRemainAfterUp(container, images.get(references.get(name) ?? ''))),
    )
  );
}

/**
 * Ends a run that has nothing to do, after verifying that the services are healthy.
 * @throws UpdateError unhealthy
 */
export async function finishUnchangedRun(context: JournaledContext, plan: PreparedPlan): Promise<RunOutcome> {
  const { log } = context;
  const services = updatedServicesOf(plan.installation);
  const ready = findReleaseCommand(plan, plan.images.get(plan.app.to), 'ready');
  await verifyUnchangedServices(context, services, ready);
  log.enterPhase('done');
  for (const warning of findVersionMismatchWarnings(plan)) log.warn(warning);
  const lasting = services.filter(({ name }) => !plan.migrations.includes(name));
  const stopped = lasting.filter(({ running }) => running === 0).map(({ name }) => name);
  const alone = lasting
    .filter(({ running }) => running > 0)
    .flatMap(({ containers }) => containers.filter((each) => !isUp(each)).map(({ name }) => name));
  const down = [...stopped, ...alone];
  const runs = describeRunningServices(plan, stopped);
  const left = down.length === 0 ? '' : `, ${joinWithAnd(down)} ${down.length > 1 ? 'are' : 'is'} stopped`;
  return logUnchangedOutcome(context, `${runs} already${left}`, plan.to);
}
