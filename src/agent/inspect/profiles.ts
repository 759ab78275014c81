import type { ProjectFiles } from '../../compose/project-files.ts';
import { variablesOf } from '../../compose/variables.ts';
import type { Model } from '../../engine/cli/compose.ts';
import { type Container, serviceOf } from '../../engine/container.ts';

/**
 * The profiles that were given on the command line, which leaves no trace: those of services that have containers, with
 * those of `COMPOSE_PROFILES`, which the flag would replace. Empty where compose has all of them by itself.
 */
export function profilesOf(files: ProjectFiles, model: Model, containers: readonly Container[]): string[] {
  const byVariable = (variablesOf(files.envFiles)('COMPOSE_PROFILES')?.text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  const used = new Set(containers.flatMap((each) => model.services[serviceOf(each)]?.profiles ?? []));
  if (byVariable.includes('*') || [...used].every((name) => byVariable.includes(name))) return [];
  return [...new Set([...byVariable, ...used])].sort();
}
