import { parseReference } from '../../compose/reference.ts';
import type { Model } from '../../engine/cli/compose.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { Installation } from '../inspect/installation.ts';
import type { Expected } from '../proof/prove.ts';
import type { Move } from './plan-update.ts';

/** A generated file may change anything but the services, networks and volumes that are in use. */
export function checkGenerated(
  installation: Installation,
  model: Model,
  expected: Expected,
  moves: readonly Move[],
): void {
  for (const { service, tag } of moves) {
    const image = model.services[service]?.image ?? 'nothing';
    if (image !== expected.images.get(service) || (parseReference(image)?.tag ?? 'latest') !== tag) {
      throw new UpdateError(
        'proof-failed',
        `with the files of the release ${service} would run ${image}, not ${tag}`,
      );
    }
  }
  const changed = (['networks', 'volumes'] as const).flatMap((kind) =>
    Object.keys(installation.model[kind] ?? {})
      .filter((key) => key in (model[kind] ?? {}))
      .filter((key) => JSON.stringify(installation.model[kind]?.[key]) !== JSON.stringify(model[kind]?.[key]))
      .map((key) => `${kind === 'networks' ? 'network' : 'volume'} ${key}`),
  );
  if (changed.length > 0) {
    throw new UpdateError(
      'shared-definition',
      `the release changes the definition of ${changed.join(', ')}, which is in use`,
    );
  }
}
