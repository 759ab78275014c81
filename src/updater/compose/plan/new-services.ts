import { formatUpCommand } from '../../../core/command-line/compose-command.ts';
import { isSamePublisher, parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ComposeModel, ComposeService } from '../../../engine/cli/compose.ts';
import { serviceOf } from '../../../engine/objects/container.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { UpdatedService } from '../../run/state/rollout.ts';
import { completionDependenciesOf, type Installation, updatedServicesOf } from '../inspect/installation.ts';

/**
 * Finds services without containers on which updated services depend, even indirectly. Provider services and services
 * with 0 replicas never have containers, so they are ignored.
 */
export function findMissingDependencies(installation: Installation, { services }: ComposeModel): string[] {
  const known = [...installation.exclude, ...installation.containers.map(serviceOf)];
  const hasContainers = ({ deploy, scale, provider }: ComposeService): boolean =>
    (deploy?.replicas ?? scale ?? 1) > 0 && provider === undefined;
  const updated = updatedServicesOf(installation).map(({ name }) => name);
  const missing = new Set(updated);
  // The loop also visits the names that it adds, and so finds indirect dependencies.
  for (const name of missing)
    for (const [need, { required }] of Object.entries(services[name]?.depends_on ?? {}))
      if (required !== false && services[need] && hasContainers(services[need]) && !known.includes(need))
        missing.add(need);
  return [...missing].filter((name) => !updated.includes(name));
}

/**
 * Describes how a new service of the release is started. `isSeparate` is true if the service has another publisher's
 * image and no mounts in common with other services.
 */
export function describeNewService(
  name: string,
  { installation, model }: { installation: Installation; model: ComposeModel },
): NonNullable<UpdatedService['added']> {
  const { scale, deploy, volumes, image } = model.services[name] ?? {};
  const before = Object.values(installation.model.services).flatMap((each) => each.volumes ?? []);
  const isShared = volumes?.some(({ source }) => before.some((mount) => source && mount.source === source));
  const [own, app] = [image, model.services[installation.app.name]?.image].map((each) =>
    parseImageReference(each ?? ''),
  );
  return {
    replicas: deploy?.replicas ?? scale ?? 1,
    isSeparate: !isShared && own != null && app != null && !isSamePublisher(own, app),
  };
}

/**
 * Rejects an update if a dependency has no container, because the user decides when to start the dependency. Generated
 * installations are ignored. So are services that run to completion, because their containers may be gone. Projects
 * without a container for any dependency are also ignored: they were started with `up --no-deps`.
 * @throws UpdateError missing-service
 */
export function requireExistingDependencies(installation: Installation): void {
  const { kind, model, project, containers } = installation;
  const needed = updatedServicesOf(installation).flatMap(({ name }) =>
    Object.keys(model.services[name]?.depends_on ?? {}),
  );
  const isStarted = containers.some((each) => needed.includes(serviceOf(each)));
  const outcome = Object.values(model.services).flatMap(completionDependenciesOf);
  const names = findMissingDependencies(installation, model).filter((name) => !outcome.includes(name));
  if (kind === 'generated' || names.length === 0 || !isStarted) return;
  const message = `the updated services depend on ${joinWithAnd(names)}, but ${joinWithAnd(names)} ${names.length > 1 ? 'have' : 'has'} no container`;
  const advice = `Run ${formatUpCommand(project, names)} first. Then run {command} again.`;
  throw new UpdateError('missing-service', message, { advice });
}
