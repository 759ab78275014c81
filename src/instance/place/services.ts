import { composeLabels, roleLabel, swarmLabels } from '../../engine/labels.ts';
import type { EngineSocket } from '../../engine/socket.ts';
import type { Settings } from '../contract/options.ts';
import type { Home } from './home.ts';

/**
 * What is updated, the app first; null where the updater's own choice is right: the service `app`, and those that the
 * compose file calls workers (docs/contract.md 8.26).
 */
export async function chooseServices(
  engine: EngineSocket,
  { project, service: own }: Home,
  { app = null, workers }: Pick<Settings, 'app' | 'workers'>,
): Promise<string[] | null> {
  const first = app ?? own;
  const unique = (others: readonly string[]) => [...new Set([first, ...others])];
  // Where the library lives in a worker, the own service is one.
  if (workers !== null) return unique([...workers, own]);
  const labelled = await labelledWorkers(engine, project);
  const byDefault =
    labelled.length > 0 ? labelled : (await hasService(engine, project, 'worker')) ? ['worker'] : [];
  const isUsual = first === 'app' && [first, ...byDefault].includes(own);
  return isUsual ? null : unique([...byDefault, own]);
}

async function labelledWorkers(engine: EngineSocket, project: string): Promise<string[]> {
  const label = [
    `${composeLabels.project}=${project}`,
    `${roleLabel}=worker`,
    `${composeLabels.oneOff}=False`,
  ];
  const found = await engine.list({ label });
  const names = await Promise.all(
    found.map(async ({ imageId, labels }) => {
      // A container has the labels of its image as well, and app and worker may be of one image.
      const image = await engine.image(imageId);
      return image?.labels[roleLabel] === 'worker' ? [] : [labels[composeLabels.service] ?? ''];
    }),
  );
  return [...new Set(names.flat().filter(Boolean))].sort();
}

async function hasService(engine: EngineSocket, project: string, service: string): Promise<boolean> {
  const label = [`${composeLabels.project}=${project}`, `${composeLabels.service}=${service}`];
  return (await engine.list({ label })).length > 0;
}

/** Of a server's Swarm stack: the services besides its own whose tasks here are workers. */
export async function swarmPeers(
  engine: EngineSocket,
  labels: Readonly<Record<string, string>>,
): Promise<string[]> {
  const stack = labels[swarmLabels.stack];
  if (!stack) return [];
  const tasks = await engine.list({ label: [`${swarmLabels.stack}=${stack}`] });
  const workers = tasks.filter(
    (task) => task.labels[roleLabel] === 'worker' || task.labels[swarmLabels.service] === `${stack}_worker`,
  );
  const names = workers.map((task) => task.labels[swarmLabels.service] ?? '');
  return [...new Set(names)].filter((name) => name !== '' && name !== labels[swarmLabels.service]).sort();
}
