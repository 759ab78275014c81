import type { Secret } from '../../core/compose/secret-lines.ts';
import { environment } from '../../engine/container.ts';
import type { Json } from '../../engine/json.ts';
import { object, strings } from '../../engine/json.ts';
import { containerOf, imageOf, type SwarmService } from '../../engine/swarm.ts';
import type { MaskRules } from '../run/log/mask.ts';
import { imageNames } from '../run/log/mask-rules.ts';
import type { ServiceMove } from './specs.ts';

export const containerLabelsOf = (spec: Json): Record<string, string> =>
  Object.fromEntries(
    Object.entries(object(containerOf(spec).Labels)).map(([key, each]) => [key, String(each)]),
  );

/** Masks the environment values of services. */
const secretsOf = (specs: readonly Json[]): Secret[] =>
  specs.flatMap((each) =>
    [...environment(strings(containerOf(each).Env))].flatMap(([key, value]) =>
      key === 'PATH' || key === 'HOME' ? [] : [{ key, value }],
    ),
  );

export const maskRulesOfServices = (services: readonly SwarmService[]): MaskRules => ({
  secrets: secretsOf(
    services.flatMap(({ spec, previous }) => (previous === null ? [spec] : [spec, previous])),
  ),
  shown: services.flatMap(({ id, name, stack, spec }) => [
    ...[id, name, stack ?? ''],
    ...imageNames(imageOf(spec)),
  ]),
});

/** Of a record, which has the specs of before. */
export const maskRulesOfMoves = (moves: readonly ServiceMove[]): MaskRules => ({
  secrets: secretsOf(moves.flatMap(({ before, wanted }) => [before, wanted])),
  shown: moves.flatMap(({ id, name, image, label }) => [id, name, image, ...imageNames(label)]),
});
