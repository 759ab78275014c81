import type { Image } from '../../engine/container.ts';
import type { Installation, ServiceFacts } from '../inspect/installation.ts';
import type { Changeover, ContainerRecord, MovedService } from '../state/changeover.ts';
import type { FilePlan } from './plan-files.ts';
import type { UpdatePlan } from './plan-update.ts';
import { reached, versionWarnings, whatRuns } from './words.ts';

/** `containers` are those right before the first file changes, `images` those behind the references. */
export function planChangeover(
  { services, followers }: Installation,
  plan: UpdatePlan,
  filePlan: FilePlan,
  images: ReadonlyMap<string, Image>,
  containers: readonly ContainerRecord[],
  from: string,
): Changeover {
  const apps = services.filter(({ isApp }) => isApp).map(({ name }) => name);
  const moved =
    (follows: boolean) =>
    (facts: ServiceFacts): MovedService => {
      const reference = filePlan.references.get(facts.name);
      const id = reference === undefined ? undefined : images.get(reference)?.id;
      const conditions = filePlan.model.services[facts.name]?.depends_on ?? {};
      return {
        name: facts.name,
        isApp: facts.isApp,
        follows,
        image: reference === undefined || id === undefined ? null : { reference, id },
        awaits: apps.filter((app) => conditions[app]?.condition === 'service_healthy'),
      };
    };
  return {
    moved: [...services.map(moved(false)), ...followers.map(moved(true))],
    containers,
    words: {
      from,
      goal: plan.goal,
      reached: reached(plan, filePlan),
      runs: whatRuns(plan, filePlan, images),
      warnings: versionWarnings(plan, filePlan, images),
      alsoMoved: filePlan.alsoMoved,
      newServices: filePlan.newServices,
    },
  };
}
