import type { Json } from '../../../engine/objects/json.ts';
import { containerSpecOf, type SwarmService, serviceImageOf } from '../../../engine/swarm/swarm-service.ts';
import type { MaskRules } from '../../run/log/mask.ts';
import { environmentSecretsOf, imageReferencePartsOf } from '../../run/log/mask-rules.ts';
import type { StackServiceUpdate } from './specs.ts';

const secretsOfSpec = (spec: Json) => environmentSecretsOf(containerSpecOf(spec));

export const createServiceMaskRules = (services: readonly SwarmService[]): MaskRules => ({
  secrets: services
    .flatMap(({ spec, previousSpec: previous }) => [spec, previous ?? {}])
    .flatMap(secretsOfSpec),
  shown: services.flatMap(({ id, name, stack, spec }) => [
    ...[id, name, stack ?? ''],
    ...imageReferencePartsOf(serviceImageOf(spec)),
  ]),
});

/** A record contains the complete specs of its services, including secret values. */
export const createServiceUpdateMaskRules = (moves: readonly StackServiceUpdate[]): MaskRules => ({
  secrets: moves.flatMap(({ before, wanted }) => [before, wanted]).flatMap(secretsOfSpec),
  shown: moves.flatMap(({ id, name, image, label }) => [id, name, image, ...imageReferencePartsOf(label)]),
});
