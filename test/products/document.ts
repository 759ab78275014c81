import { svcProduct } from '../../src/core/names/product.ts';
import type { ComposeService } from '../../src/engine/cli/compose.ts';
import type { Container } from '../../src/engine/objects/container.ts';
import { composeLabels } from '../../src/engine/objects/labels.ts';
import {
  type EvaluatedDataSettings,
  evaluateDataSettings,
} from '../../src/updater/data/selection/evaluate-data.ts';
import { container } from '../build.ts';
import { type Form, ofRelease, type Product, type Service } from './product.ts';

/** The row of a product in docs/other-products.md, without its last column. */
export function rowOf(product: Product): string[] {
  const { title, origin, forms } = product;
  return [
    `[${title}](${origin})`,
    forms.map((form) => tagOf(product, form)).join(', '),
    `\`${wordsOf(product)}\``,
  ];
}

/** The arguments of the updater that update the product. */
export const wordsOf = ({ moved, releases, isUntargeted }: Product): string =>
  [
    ...moved.map((name) => `--service ${name}`),
    ...(isUntargeted ? [] : [`--target ${releases.next.tag}`]),
  ].join(' ');

function tagOf({ releases: { old } }: Product, { name, pin }: Form): string {
  if (pin === '') return 'no tag';
  return `\`${ofRelease({ floating: '{word}', 'in parts': '{part}', pinned: '{tag}', 'no version': '{tag}' }[name], old)}\``;
}

/** Data that a restore point saves with the proposed settings, and data that it does not save. */
export function pointRowOf(product: Product): string[] {
  const { undecided, line } = judged(product, []);
  const said = undecided.map(({ key, proposal }) => ({ key, word: proposal, where: 'proposed' }));
  const { covered, excluded, uncovered, inMemory } = judged(product, said);
  const listed = (names: readonly string[]) => names.map((name) => `\`${name}\``);
  return [
    product.title,
    undecided.length === 0 ? '' : `\`${line}\``,
    listed(covered).join(', '),
    [
      ...listed([...excluded.map(({ service }) => service), ...uncovered]),
      ...listed(inMemory).map((name) => `${name} (in memory)`),
    ].join(', '),
  ];
}

const judged = (
  { services, shared = {}, moved }: Product,
  said: Parameters<typeof evaluateDataSettings>[0]['dataSettings'],
): EvaluatedDataSettings =>
  evaluateDataSettings({
    model: {
      name: 'tried',
      services: Object.fromEntries(
        Object.entries(services).map(([name, service]) => [
          name,
          modelOf({ ...(service.like === undefined ? {} : shared[service.like]), ...service }),
        ]),
      ),
    },
    containers: Object.entries(services).map(([name, service]) =>
      containerOf(
        name,
        modelOf(service.like === undefined ? service : { ...shared[service.like], ...service }),
      ),
    ),
    updated: moved,
    dataSettings: said,
    product: svcProduct,
    files: [],
    directory: '/opt/tried',
  });

const containerOf = (name: string, { volumes }: ComposeService): Container =>
  container('x-1', {
    labels: { [composeLabels.service]: name },
    mounts: (volumes ?? []).map(({ type, source = '', target, read_only }) => ({
      ...{ type, source },
      ...{ destination: target, writable: read_only !== true },
    })),
  });

const modelOf = ({
  repository = '',
  mounts = [],
  needs = [],
  needsHealthy = [],
}: Service): ComposeService => ({
  image: repository,
  depends_on: {
    ...Object.fromEntries(needs.map((name) => [name, { condition: 'service_started' }])),
    ...Object.fromEntries(needsHealthy.map((name) => [name, { condition: 'service_healthy' }])),
  },
  volumes: mounts.map((mount) => {
    const [source = '', target = '', mode] = mount.split(':');
    return {
      type: /^[a-z]/.test(source) ? 'volume' : 'bind',
      source,
      target,
      read_only: mode === 'ro',
    };
  }),
});
