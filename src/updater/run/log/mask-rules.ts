import { parseReference } from '../../../core/compose/pins/image-reference.ts';
import { type Secret, secretsOfContent } from '../../../core/compose/secrets/secret-lines.ts';
import type { ComposeModel, ModelService } from '../../../engine/cli/compose.ts';
import { type Container, parseEnvironment, serviceOf } from '../../../engine/objects/container.ts';
import { type Json, toStrings } from '../../../engine/objects/json.ts';
import type { MaskRules } from './mask.ts';

/** The model may be of the current or of the planned configuration. */
export function maskRulesOfModel(model: ComposeModel): MaskRules {
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
  ...imageNamesOf(image ?? ''),
  ...(volumes ?? []).flatMap(({ source = '', target }) => [source, target]),
  ...(env_file ?? []).map(({ path }) => path),
  ...[...(secrets ?? []), ...(configs ?? [])].map(({ target = '' }) => target),
];

/** In its model, compose doubles each `$` of a value. */
const undoubled = (text: string): string => text.replaceAll('$$', '$');

/**
 * Returns an image reference, its repository and its tag. The repository must also be shown with other tags, because
 * the new release has a new tag.
 */
export function imageNamesOf(image: string): string[] {
  const { repository = image, tag = null } = parseReference(image) ?? {};
  return [image, repository, tag ?? ''];
}

/** The environment of a container may contain variables from a shell, which are not in any file. */
export const maskRulesOfContainers = (containers: readonly Container[]): MaskRules => ({
  secrets: containers.flatMap(({ env }) => secretsOf(env)),
  shown: containers.flatMap((container) => [
    container.name,
    container.imageId,
    serviceOf(container),
    ...imageNamesOf(container.imageReference),
    ...container.mounts.flatMap(({ source, destination }) => [source, destination]),
  ]),
});

/**
 * Rules for the requests that `up` would send. Since compose 5, only these requests contain the values from new env
 * files.
 */
export const maskRulesOfSent = (sent: Iterable<{ body: Json }>): MaskRules => ({
  secrets: [...sent].flatMap(({ body }) => secretsOfBody(body)),
});

/** `body` is a container, or the container spec of a Swarm service, in the engine's JSON format. */
export const secretsOfBody = ({ Env }: Json): Secret[] => secretsOf(parseEnvironment(toStrings(Env)));

/** All environment values count as secrets, except PATH and HOME, which come from images. */
const secretsOf = (env: ReadonlyMap<string, string>): Secret[] =>
  [...env].flatMap(([key, value]) => (key === 'PATH' || key === 'HOME' ? [] : [{ key, value }]));
