import { environment } from '../../engine/container.ts';
import type { Json } from '../../engine/json.ts';
import { object, strings } from '../../engine/json.ts';
import { containerOf, imageOf, type SwarmService } from '../../engine/swarm.ts';
import type { MaskRules } from '../log/mask.ts';
import { imageNames } from '../log/mask-rules.ts';

export const containerLabelsOf = (spec: Json): Record<string, string> =>
  Object.fromEntries(
    Object.entries(object(containerOf(spec).Labels)).map(([key, each]) => [key, String(each)]),
  );

/** What the environments of services hold is nobody's to read. */
export const maskRulesOfServices = (services: readonly SwarmService[]): MaskRules => ({
  secrets: services.flatMap(({ spec, previous }) =>
    [spec, ...(previous === null ? [] : [previous])].flatMap((each) =>
      [...environment(strings(containerOf(each).Env))].flatMap(([key, value]) =>
        key === 'PATH' || key === 'HOME' ? [] : [{ key, value }],
      ),
    ),
  ),
  shown: services.flatMap(({ id, name, stack, spec }) => [
    id,
    name,
    stack ?? '',
    ...imageNames(imageOf(spec)),
  ]),
});
