import { deepEqual, match, notEqual } from 'node:assert/strict';
import { docker, type Stack } from './swarm.ts';

interface Spec {
  Labels: Record<string, string>;
  Mode?: { Replicated?: { Replicas: number } };
  UpdateConfig?: { FailureAction?: string; Order?: string };
  TaskTemplate: { ContainerSpec: { Image: string }; Placement?: { Platforms?: unknown } };
}

export interface Snapshot {
  /** By the service's name in the stack file. */
  specs: Record<string, Spec>;
  dbTasks: string[];
  networks: string[];
  boots: string[];
}

export async function snapshot(stack: Stack): Promise<Snapshot> {
  const names = await stack.list('service', '{{.Name}}');
  const services: { Spec: Spec & { Name: string } }[] = JSON.parse(
    await docker(stack.manager, 'service', 'inspect', ...names),
  );
  const specs = services.map(({ Spec }) => [Spec.Name.slice(stack.name.length + 1), Spec] as const);
  return {
    specs: Object.fromEntries(specs),
    dbTasks: await stack.tasks(`${stack.name}_db`, '{{.ID}}'),
    networks: await stack.list('network', '{{.ID}} {{.Name}}'),
    boots: await stack.boots(),
  };
}

/** Nothing has changed, and no service was started. */
export function expectUntouched(before: Snapshot, after: Snapshot): void {
  deepEqual(after, before);
}

/**
 * Exactly these services have been updated to these versions: only the version in their specs has changed. No older
 * version has started after a newer one, and the database is unchanged.
 */
export function expectUpdated(
  before: Snapshot,
  after: Snapshot,
  versions: Readonly<Record<string, string>>,
): void {
  deepEqual(oldAfterNew(after.boots), []);
  deepEqual([after.dbTasks, after.networks], [before.dbTasks, before.networks]);
  deepEqual(Object.keys(after.specs).toSorted(), Object.keys(before.specs).toSorted());
  for (const [name, spec] of Object.entries(after.specs)) {
    const was = before.specs[name];
    const version = versions[name];
    if (version === undefined || was === undefined) {
      deepEqual(spec, was);
      continue;
    }
    const image = spec.TaskTemplate.ContainerSpec.Image;
    match(image, new RegExp(`:${version.replaceAll('.', '\\.')}@sha256:`));
    notEqual(image, was.TaskTemplate.ContainerSpec.Image);
    deepEqual(withoutVersion(spec), withoutVersion(was));
  }
}

function withoutVersion(spec: Spec): Spec {
  const rest = structuredClone(spec);
  rest.TaskTemplate.ContainerSpec.Image = '';
  delete rest.Labels['com.docker.stack.image'];
  delete rest.TaskTemplate.Placement?.Platforms;
  return rest;
}

/** Starts of a version that is older than a version started before, regardless of the images' labels. */
export function oldAfterNew(boots: readonly string[]): string[] {
  let newest = '';
  return boots.filter((line) => {
    const version = line.split(' ')[2] ?? '';
    if (version > newest) newest = version;
    return version < newest || line.endsWith(' OLD');
  });
}
