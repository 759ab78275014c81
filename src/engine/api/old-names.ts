import { type Container, serviceOf } from '../container.ts';
import { isJoinedBy } from '../old-name.ts';
import { finalName } from './project-containers.ts';

/**
 * Services whose containers are called `project_service_1`. What runs decides, as compose names anew whatever it replaces;
 * a service whose containers tell nothing (`container_name`) goes with the others, as the names in its links are made so.
 */
export function oldNamesOf(containers: readonly Container[]): string[] {
  const named = containers.map((container) => ({ ...container, name: finalName(container) }));
  const services = [...new Set(named.map(serviceOf))];
  const isOld = (own: readonly Container[]) => {
    const telling = own.find((each) => isJoinedBy('_', each) || isJoinedBy('-', each));
    return telling === undefined ? null : isJoinedBy('_', telling);
  };
  const others = isOld(named) ?? false;
  return services.filter((name) => isOld(named.filter((each) => serviceOf(each) === name)) ?? others).sort();
}
