import { parseReference } from '../../compose/reference.ts';
import { type Secret, secretsOfContent } from '../../compose/secret-lines.ts';
import type { Model, ModelService } from '../../engine/cli/compose.ts';
import { type Container, serviceOf } from '../../engine/container.ts';

/** What a source tells that must not be printed, and what must be, whatever else it is. */
export interface Confidences {
  secrets?: readonly Secret[];
  /** Image references, names of the project and of its services, paths (docs/contract.md 6.7). */
  keep?: readonly string[];
  /** Hidden whatever they are: passwords of registries. */
  extra?: readonly string[];
}

/** All that was ever learnt in this run. Nothing is forgotten: an old password may still open something. */
export class Secrets {
  readonly #secrets = new Map<string, Secret>();
  readonly keep = new Set<string>();
  readonly extra = new Set<string>();
  #untold: (() => Confidences)[] = [];

  get secrets(): Iterable<Secret> {
    return this.#secrets.values();
  }

  learn(tell: () => Confidences): void {
    this.#untold.push(tell);
  }

  /** Asks the sources that were added; says whether they told anything new. */
  hasGrown(): boolean {
    if (this.#untold.length === 0) return false;
    const before = this.#size;
    const sources = this.#untold;
    this.#untold = [];
    for (const tell of sources) {
      const { secrets = [], keep = [], extra = [] } = tell();
      for (const secret of secrets) this.#secrets.set(`${secret.key}\n${secret.value}`, secret);
      for (const text of keep) this.keep.add(text);
      for (const text of extra) this.extra.add(text);
    }
    return this.#size > before;
  }

  get #size(): number {
    return this.#secrets.size + this.keep.size + this.extra.size;
  }
}

/** Compose's model, today's or the one that will be. */
export function confidencesOfModel(model: Model): Confidences {
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
    keep: [
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

/** A shell may have set more than the files tell. PATH and the like come from images. */
export const confidencesOfContainers = (containers: readonly Container[]): Confidences => ({
  secrets: containers.flatMap(({ env }) =>
    [...env].filter(([key]) => key !== 'PATH' && key !== 'HOME').map(([key, value]) => ({ key, value })),
  ),
  keep: containers.flatMap((container) => [
    container.name,
    container.imageId,
    serviceOf(container),
    ...imageNames(container.imageReference),
    ...container.mounts.flatMap(({ source, destination }) => [source, destination]),
  ]),
});

/** What `up` would send for containers: from compose 5 on, only there are the values of env files that are new. */
export const confidencesOfSent = (
  sent: Iterable<{ body: Readonly<Record<string, unknown>> }>,
): Confidences => ({
  secrets: [...sent].flatMap(({ body }) =>
    (Array.isArray(body.Env) ? body.Env : []).flatMap((entry) => {
      const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(String(entry)) ?? [];
      return key === 'PATH' || key === 'HOME' ? [] : [{ key, value }];
    }),
  ),
});
