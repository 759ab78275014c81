import { isUp } from '../../../engine/container.ts';
import { keepsContainer } from '../../../engine/same-image.ts';
import { logUnchanged } from '../../run/last-lines.ts';
import type { Ending } from '../../run/log/ending.ts';
import { and } from '../../run/log/wording.ts';
import { movedServices } from '../inspect/installation.ts';
import type { PreparedPlan } from '../plan/plan.ts';
import { releaseCommand } from '../plan/release-label.ts';
import { versionWarnings, whatRuns } from '../plan/version-sentences.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { verifyUnchanged } from '../replace/verify.ts';

/** Checks whether no file changes and all required containers are running with exactly these images. */
export function isUnchanged({ installation, changes, references, images }: PreparedPlan): boolean {
  return (
    changes.length === 0 &&
    installation.app.running > 0 &&
    movedServices(installation).every(
      ({ name, containers, running }) =>
        running === containers.filter(isUp).length &&
        containers.every((container) => keepsContainer(container, images.get(references.get(name) ?? ''))),
    )
  );
}

/** Ends a run that has nothing to do, if the services are healthy. @throws UpdateError unhealthy */
export async function endUnchanged(context: JournaledContext, plan: PreparedPlan): Promise<Ending> {
  const { log } = context;
  const services = movedServices(plan.installation);
  const ready = releaseCommand(plan, plan.images.get(plan.app.to), 'ready');
  await verifyUnchanged(context, services, ready);
  log.enter('done');
  for (const warning of versionWarnings(plan)) log.warn(warning);
  const lasting = services.filter(({ name }) => !plan.migrations.includes(name));
  const stopped = lasting.filter(({ running }) => running === 0).map(({ name }) => name);
  const alone = lasting
    .filter(({ running }) => running > 0)
    .flatMap(({ containers }) => containers.filter((each) => !isUp(each)).map(({ name }) => name));
  const down = [...stopped, ...alone];
  const runs = whatRuns(plan, stopped);
  const left = down.length === 0 ? '' : `, ${and(down)} ${down.length > 1 ? 'are' : 'is'} stopped`;
  return logUnchanged(context, `${runs} already${left}`, plan.to);
}
