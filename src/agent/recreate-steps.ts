import type { Model } from '../engine/compose.ts';
import { type Container, isMeantToRun } from '../engine/container.ts';
import type { Installation, ServiceFacts } from './installation.ts';

/** What `recreate` does, in order. */
export type Step =
  | { kind: 'remove-leftovers'; containers: readonly Container[] }
  | { kind: 'stop'; service: string; containers: readonly Container[] }
  | { kind: 'up'; service: string; scale: number; start: boolean; force: boolean }
  | { kind: 'await-healthy'; service: string; dependent: string }
  /** Containers of a service of which some were stopped: `up` starts all. */
  | { kind: 'stop-again'; service: string; numbers: readonly number[] };

export type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>;

/**
 * The order that keeps the app away for the shortest time, and that leaves nothing of the new version started when the
 * new app cannot even start: the old workers stop while the old app still answers, then the app is replaced, then the
 * workers, then whatever lives in a namespace of theirs.
 */
export function planRecreate(installation: Installation, model: Model): Step[] {
  const workers = installation.services.filter(({ isApp }) => !isApp);
  const apps = installation.services.filter(({ isApp }) => isApp);
  const steps: Step[] = [];
  if (installation.leftovers.length > 0)
    steps.push({ kind: 'remove-leftovers', containers: installation.leftovers });
  for (const worker of workers) {
    const containers = worker.containers.filter(isMeantToRun);
    if (containers.length > 0) steps.push({ kind: 'stop', service: worker.name, containers });
  }
  for (const app of apps) steps.push(up(app, { start: true, force: false }));
  for (const worker of workers) {
    for (const app of apps) {
      const condition = model.services[worker.name]?.depends_on?.[app.name]?.condition;
      if (condition === 'service_healthy' && worker.running > 0) {
        steps.push({ kind: 'await-healthy', service: app.name, dependent: worker.name });
      }
    }
    steps.push(...upAsBefore(worker, false));
  }
  for (const follower of installation.followers) steps.push(...upAsBefore(follower, true));
  return steps;
}

const up = (service: ServiceFacts, how: { start: boolean; force: boolean }): Step => ({
  kind: 'up',
  service: service.name,
  scale: service.containers.length,
  ...how,
});

/** What was stopped is replaced, too, and stays stopped. */
function upAsBefore(service: ServiceFacts, force: boolean): Step[] {
  const steps = [up(service, { start: service.running > 0, force })];
  const numbers = service.stopped;
  if (service.running > 0 && numbers.length > 0) {
    steps.push({ kind: 'stop-again', service: service.name, numbers });
  }
  return steps;
}
