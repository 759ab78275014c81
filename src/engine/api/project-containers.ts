import type { Engine } from '../cli/engine.ts';
import { byNumber, type Container } from '../container.ts';
import { composeLabels } from '../labels.ts';
import { inspectContainers, listContainers } from './query.ts';

/** Compose's name for a container that is to take another's place: the first 12 digits of that one's id come first. */
const temporaryName = /^([0-9a-f]{12})_(.+)$/;

export const hasTemporaryName = ({ name }: Container): boolean => temporaryName.test(name);

/** The name that it was to get. */
export const finalName = ({ name }: Container): string => temporaryName.exec(name)?.[2] ?? name;

/** A killed `up` had made it and was about to start it. */
export const wasToBeStarted = (container: Container): boolean =>
  hasTemporaryName(container) && container.status === 'created';

/** What the engine has of a compose project, without one-off containers. */
export interface ProjectContainers {
  /** By their numbers. Among them those that never got their final name and whose predecessor is gone. */
  containers: readonly Container[];
  /** What a killed `up` left beside the container that it was to replace: created under a temporary name, never started. */
  leftovers: readonly Container[];
}

export async function listProject(engine: Engine, project: string): Promise<ProjectContainers> {
  const listed = await listContainers(engine, { label: [`${composeLabels.project}=${project}`] });
  const own = listed.filter(({ labels }) => labels[composeLabels.oneOff] !== 'True');
  const all = await inspectContainers(
    engine,
    own.map(({ id }) => id),
  );
  const isLeftover = ({ name, status }: Container) => {
    const prefix = temporaryName.exec(name)?.[1];
    return status === 'created' && prefix !== undefined && all.some(({ id }) => id.startsWith(prefix));
  };
  return {
    containers: all.filter((container) => !isLeftover(container)).sort(byNumber),
    leftovers: all.filter(isLeftover),
  };
}
