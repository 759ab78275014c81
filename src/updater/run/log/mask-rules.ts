import { parseReference } from '../../../core/compose/reference.ts';
import { type Secret, secretsOfContent } from '../../../core/compose/secret-lines.ts';
import type { Model, ModelService } from '../../../engine/cli/compose.ts';
import { type Container, environment, serviceOf } from '../../../engine/container.ts';
import { type Json, strings } from '../../../engine/json.ts';
import type { MaskRules } from './mask.ts';

/** Compose's model, today's or the one that will be. */
export function maskRulesOfModel(model: Model): MaskRules {
  const services = Object.entries(model.services);
  const stores = [...Object.values(model.configs ?? {}), ...Object.values(model.secrets ?? {})];
  return {
    secrets: [
      ...services
        .flatMap(([, { pre_start, post_start, pre_stop, ...service }]) => [
          ...[service, ...(pre_start ?? []), ...(post_start ?? []), ...(pre_stop ?? [])],
        ])
        .flatMap(({ environment }) =>
          Object.entries(environment ?? {}).map(([key, value]) => ({ key, value: undoubled(value ?? '') })),
        ),
      ...stores.flatMap((store) => secretsOfContent(undoubled(store?.content ?? ''))),
    ],
    shown: [
      model.name ?? '',
      ...services.flatMap(([name, service]) => [name, ...namesIn(service)]),
      ...stores.flatMap((store) => store?.file ?? []),
    ],
  };
}

const namesIn = ({ image, volumes, env_file, secrets, configs }: ModelService): string[] => [
  ...imageNames(image ?? ''),
  ...(volumes ?? []).flatMap(({ source = '', target }) => [source, target]),
  ...(env_file ?? []).map(({ path }) => path),
  ...[...(secrets ?? []), ...(configs ?? [])].map(({ target = '' }) => target),
];

/** Compose writes each `$` of a value twice. */
const undoubled = (text: string): string => text.replaceAll('$$', '$');

/** The repository and the tag are kept by themselves, too: the new release is another tag of it. */
export function imageNames(image: string): string[] {
  const { repository = image, tag = null } = parseReference(image) ?? {};
  return [image, repository, tag ?? ''];
}

/** A shell may have set more than the files tell. */
export const maskRulesOfContainers = (containers: readonly Container[]): MaskRules => ({
  secrets: containers.flatMap(({ env }) => secretsOf(env)),
  shown: containers.flatMap((container) => [
    container.name,
    container.imageId,
    serviceOf(container),
    ...imageNames(container.imageReference),
    ...container.mounts.flatMap(({ source, destination }) => [source, destination]),
  ]),
});

/** What `up` would send for containers: from compose 5 on, only there are the values of env files that are new. */
export const maskRulesOfSent = (sent: Iterable<{ body: Json }>): MaskRules => ({
  secrets: [...sent].flatMap(({ body }) => secretsOfBody(body)),
});

/** Of a container or of a Swarm service's container, in the engine's form. */
export const secretsOfBody = ({ Env }: Json): Secret[] => secretsOf(environment(strings(Env)));

/** PATH and the like come from images. */
const secretsOf = (env: ReadonlyMap<string, string>): Secret[] =>
  [...env].flatMap(([key, value]) => (key === 'PATH' || key === 'HOME' ? [] : [{ key, value }]));
