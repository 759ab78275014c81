import { type Product, roleLabelOf } from '../../core/names/product.ts';
import type { EngineApi } from '../../engine/engine-api.ts';
import { composeLabels, swarmLabels } from '../../engine/objects/labels.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import type { Deployment } from './read-deployment.ts';

/**
 * Returns the services to update, app first. Returns null if an updater would choose the same services
 * (docs/contract.md 8.26).
 */
export async function chooseUpdatedServices(
  engine: EngineApi,
  { project, service: own }: Deployment,
  { app = null, workers, product }: Pick<ValidatedInstanceOptions, 'app' | 'workers' | 'product'>,
): Promise<string[] | null> {
  const first = app ?? own;
  const unique = (others: readonly string[]) => [...new Set([first, ...others])];
  // The server's own service is added, because the library may run in a worker.
  if (workers !== null) return unique([...workers, own]);
  const labelled = await findLabelledWorkers(engine, project, product);
  const [usualApp, ...usual] = product.services;
  const byDefault = labelled.length > 0 ? labelled : await findExistingServices(engine, project, usual);
  const isUsual = first === usualApp && [first, ...byDefault].includes(own);
  return isUsual ? null : unique([...byDefault, own]);
}

async function findLabelledWorkers(engine: EngineApi, project: string, product: Product): Promise<string[]> {
  const roleLabel = roleLabelOf(product);
  const found = await engine.listContainers({
    label: [`${composeLabels.project}=${project}`, `${roleLabel}=worker`, `${composeLabels.oneOff}=False`],
  });
  const names = await Promise.all(
    found.map(async ({ imageId, labels }) => {
      // Role labels from the image are ignored, because the app and a worker may share an image.
      const image = await engine.inspectImage(imageId);
      return image?.labels[roleLabel] === 'worker' ? '' : labels[composeLabels.service];
    }),
  );
  return sortedNames(names);
}

/** Returns the services in `names` that have containers in the project. */
async function findExistingServices(
  engine: EngineApi,
  project: string,
  names: readonly string[],
): Promise<string[]> {
  const found = names.map(async (name) => {
    const label = [`${composeLabels.project}=${project}`, `${composeLabels.service}=${name}`];
    return (await engine.listContainers({ label })).length > 0 ? [name] : [];
  });
  return (await Promise.all(found)).flat();
}

/** Returns the stack's worker services that have containers on this node, except the server's own service. */
export async function findSwarmWorkerServices(
  engine: EngineApi,
  labels: Readonly<Record<string, string>>,
  product: Product,
): Promise<string[]> {
  const stack = labels[swarmLabels.stack];
  if (!stack) return [];
  const usual = product.services.slice(1).map((name) => `${stack}_${name}`);
  const tasks = await engine.listContainers({ label: [`${swarmLabels.stack}=${stack}`] });
  const names = tasks.flatMap(
    ({ labels: { [roleLabelOf(product)]: role, [swarmLabels.service]: name = '' } }) =>
      (role === 'worker' || usual.includes(name)) && name !== labels[swarmLabels.service] ? name : [],
  );
  return sortedNames(names);
}

const sortedNames = (names: readonly (string | undefined)[]): string[] =>
  [...new Set(names.filter((name): name is string => !!name))].sort();
