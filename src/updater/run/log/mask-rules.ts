import { parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import { type SecretText, splitIntoSecretTexts } from '../../../core/compose/secrets/secret-lines.ts';
import type { ComposeModel, ComposeService } from '../../../engine/cli/compose.ts';
import { type Container, parseEnvironment, serviceOf } from '../../../engine/objects/container.ts';
import { type Json, toStrings } from '../../../engine/objects/json.ts';
import type { MaskRules } from './mask.ts';

/** Mask rules for the compose model of the current or the planned configuration. */
export function createModelMaskRules(model: ComposeModel): MaskRules {
  const services = Object.entries(model.services);
  const stores = [...Object.values(model.configs ?? {}), ...Object.values(model.secrets ?? {})];
  return {
    secrets: [
      ...services
        .flatMap(([, { pre_start, post_start, pre_stop, ...service }]) => [
          ...[service, ...(pre_start ?? []), ...(post_start ?? []), ...(pre_stop ?? [])],
        ])
        .flatMap(({ environment }) =>
          Object.entries(environment ?? {}).map(([key, value]) => ({
            key,
            value: unescapeDollars(value ?? ''),
          })),
        ),
      ...stores.flatMap((store) => splitIntoSecretTexts(unescapeDollars(store?.content ?? ''))),
    ],
    shown: [
      model.name ?? '',
      ...services.flatMap(([name, service]) => [name, ...shownNamesOf(service)]),
      ...stores.flatMap((store) => store?.file ?? []),
    ],
  };
}

const shownNamesOf = ({ image, volumes, env_file, secrets, configs }: ComposeService): string[] => [
  ...imageReferencePartsOf(image ?? ''),
  ...(volumes ?? []).flatMap(({ source = '', target }) => [source, target]),
  ...(env_file ?? []).map(({ path }) => path),
  ...[...(secrets ?? []), ...(configs ?? [])].map(({ target = '' }) => target),
];

/** Compose doubles each `$` of a value in its model. */
const unescapeDollars = (text: string): string => text.replaceAll('$$', '$');

/**
 * Returns an image reference, its repository and its tag. The repository is a separate text, so that it is also shown
 * with another tag.
 */
export function imageReferencePartsOf(image: string): string[] {
  const { repository = image, tag = null } = parseImageReference(image) ?? {};
  return [image, repository, tag ?? ''];
}

/** Masks the environment values of containers, which may come from a shell and not from any file. */
export const createContainerMaskRules = (containers: readonly Container[]): MaskRules => ({
  secrets: containers.flatMap(({ env }) => secretsOf(env)),
  shown: containers.flatMap((container) => [
    container.name,
    container.imageId,
    serviceOf(container),
    ...imageReferencePartsOf(container.imageReference),
    ...container.mounts.flatMap(({ source, destination }) => [source, destination]),
  ]),
});

/**
 * Rules for the requests that `up` would send. Since compose 5, only such requests contain values from new env files.
 */
export const createEngineRequestMaskRules = (sent: Iterable<{ body: Json }>): MaskRules => ({
  secrets: [...sent].flatMap(({ body }) => environmentSecretsOf(body)),
});

/** Takes a container, or the container spec of a Swarm service, in the engine's JSON format. */
export const environmentSecretsOf = ({ Env }: Json): SecretText[] =>
  secretsOf(parseEnvironment(toStrings(Env)));

/** All environment values count as secrets, except PATH and HOME, which come from images. */
const secretsOf = (env: ReadonlyMap<string, string>): SecretText[] =>
  [...env].flatMap(([key, value]) => (key === 'PATH' || key === 'HOME' ? [] : [{ key, value }]));
