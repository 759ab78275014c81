import { type Container, numberOf, serviceOf } from './container.ts';
import { composeLabels } from './labels.ts';

type Named = Pick<Container, 'name' | 'labels'>;

/** Whether compose has called it so: by `_` docker-compose 1 and `--compatibility`, by `-` today's. */
export function isJoinedBy(separator: '_' | '-', container: Named): boolean {
  const project = container.labels[composeLabels.project] ?? '';
  return container.name === [project, serviceOf(container), numberOf(container)].join(separator);
}

/** Made by docker-compose 1, whose labels today's compose takes for those of another definition. */
export const isOfComposeOne = ({ labels }: Pick<Container, 'labels'>): boolean =>
  /^1\./.test(labels[composeLabels.version] ?? '');
